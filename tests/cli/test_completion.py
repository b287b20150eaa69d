"""`kaiku completion`: a real shell offers the commands, their options and the values of these."""

from __future__ import annotations

import shlex
import subprocess
from pathlib import Path

import pytest

from cli import __main__ as program
from cli.options import FLAG
from tests.cli.portals import Person

TRY = """
source /dev/stdin <<< "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
_kaiku
echo "${COMPREPLY[*]}"
"""


@pytest.fixture
def made(tmp_path: Path) -> dict[str, str]:
    alice = Person(tmp_path, "https://kaiku.example")
    return {shell: alice.shown("completion", shell) for shell in ("bash", "zsh", "fish")}


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("his",), "history"),
        (("comp",), "compare completion"),
        (("--offline", "wh"), "whoami"),
        (("history", "--cl"), "--class"),
        (("history", "--class", "in"), "inefficient"),
        (("insights", "--days", ""), "7 30 90 365"),
        (("history", "--work", ""), ""),
        # bash divides words at these characters.
        (("history", "--class", "=", "wa"), "wasted"),
        (("history", "--class", "="), "efficient acceptable inefficient wasted unknown"),
        (("--url", "https", ":", "//kaiku.example", "his"), "history"),
        (("--url", "https", ":", "//kaiku.example", "history", "--cs"), "--csv"),
        (("--url", ""), ""),
        (("--token-file", "x", "who"), "whoami"),
        (("completion", "z"), "zsh"),
        # Nothing of ours: the shell offers its files.
        (("job", "--pdf", "re"), ""),
    ],
)
def test_bash_offers_what_comes_next(made: dict[str, str], words: tuple[str, ...], offered: str) -> None:
    command = ["bash", "--norc", "-c", TRY, "try", made["bash"], "kaiku", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={"PATH": "/usr/bin:/bin"})
    assert (done.stdout.strip(), done.stderr) == (offered, "")


def test_every_command_and_option_is_offered_in_every_shell(made: dict[str, str]) -> None:
    for name in program.COMMANDS:
        module = program.loaded(name)
        for option in {**module.OPTIONS, **program.COMMON}:
            assert f" --{option} " in made["bash"].replace('"', " ")
            assert f" -l {option}" in made["fish"]
        assert f"-a {name} -d" in made["fish"]
        assert (module.__doc__ or "").startswith(f"kaiku {name}")
        # The help of a command names each of its options.
        for option, kind in module.OPTIONS.items():
            assert f"--{option}{'' if kind == FLAG else ' '}" in (module.__doc__ or "")
    assert made["zsh"].endswith(made["bash"])


def test_what_is_offered_is_quoted(made: dict[str, str]) -> None:
    subprocess.run(["bash", "-n"], input=made["bash"], text=True, check=True)
    # Of fish's quotes the shells have the same meaning, as long as there is no dollar sign in them.
    assert "$" not in made["fish"]
    for line in made["fish"].splitlines():
        assert shlex.split(line)[:3] == ["complete", "-c", "kaiku"]


@pytest.mark.parametrize("words", [(), ("tcsh",), ("bash", "zsh")])
def test_another_shell_is_wrong_usage(tmp_path: Path, words: tuple[str, ...]) -> None:
    assert Person(tmp_path, "https://kaiku.example").bytes_of("completion", *words)[0] == 2
