"""`kaiku` as people run it: the file that `make cli` builds, as a process of its own."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

from tests.processes import PATIENCE_S

CHECKOUT = Path(__file__).resolve().parents[2]
CODE = re.compile(r"code ([A-Z]{4}-[A-Z]{4})")


def built(folder: Path, url: str = "") -> str:
    """The file, for a site with this portal."""
    path = folder / "kaiku.pyz"
    subprocess.run([CHECKOUT / "deploy/cli-zip", path], check=True, env=os.environ | {"KAIKU_URL": url})
    return str(path)


def person_of(home: Path) -> dict[str, str]:
    """The environment of somebody whose files are in this folder."""
    # Nothing in the background, except where a test is about that.
    named = {"HOME": str(home), "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "KAIKU_HINTS": "off"}
    return named | {"XDG_CONFIG_HOME": f"{home}/config", "XDG_CACHE_HOME": f"{home}/cache"}


def ran(kaiku: str, environ: dict[str, str], *words: str) -> tuple[int, str, str]:
    """Exit status, output and errors."""
    done = subprocess.run([kaiku, *words], env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert "Traceback" not in done.stderr
    return done.returncode, done.stdout, done.stderr


def signing_in(
    kaiku: str, environ: dict[str, str], *words: str, is_erring: bool = False
) -> tuple[subprocess.Popen[str], str]:
    """A `kaiku login` that waits, and its code; its errors are part of the output where it is to fail."""
    errors = subprocess.STDOUT if is_erring else None
    process = subprocess.Popen([kaiku, "login", *words], env=environ, stdout=subprocess.PIPE, stderr=errors, text=True)
    for line in process.stdout:
        if found := CODE.search(line):
            return process, found[1]
    raise AssertionError("no code")


def end(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Exit status and the rest of the output."""
    rest = process.communicate(timeout=PATIENCE_S)[0]
    return process.returncode, rest
