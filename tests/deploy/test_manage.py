"""`kaiku COMMAND`: the settings of the services, read as systemd reads them, and never run as a shell's commands."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.deploy.compose import ROOT
from tests.processes import PATIENCE_S

RUNUSER = """#!/usr/bin/env python3
import json, os, sys
print(json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ)]))
"""
"""Prints what it was given instead of becoming another user, whom the machine of a test does not have."""


def ran(folder: Path, settings: str, *words: str) -> tuple[list[str], str, dict[str, str]]:
    """The command, the folder and the environment that `kaiku` with these settings ends in."""
    (folder / "runuser").write_text(RUNUSER)
    (folder / "runuser").chmod(0o755)
    (folder / "portal.env").write_text(settings)
    program = (ROOT / "deploy/portal/manage").read_text()
    (folder / "kaiku").write_text(
        program.replace("/etc/kaiku/portal.env", str(folder / "portal.env")).replace("/opt/kaiku", str(folder))
    )
    (folder / "kaiku").chmod(0o755)
    path = f"{folder}:{os.environ['PATH']}"
    done = subprocess.run(
        [folder / "kaiku", *words],
        env={"PATH": path, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
    )
    assert done.returncode == 0, done.stderr
    command, where, environment = json.loads(done.stdout)
    return command, where, environment


def test_a_command_runs_as_the_portals_user_with_its_folders(tmp_path: Path) -> None:
    command, where, environment = ran(tmp_path, "HTTPS=yes\n", "report", "lumi/1", "a b")
    assert command == ["-u", "kaiku", "--", ".venv/bin/python", "manage.py", "report", "lumi/1", "a b"]
    assert where == str(tmp_path)
    assert (environment["HTTPS"], environment["KAIKU_VAR_DIR"]) == ("yes", "/var/lib/kaiku-portal")
    assert environment["XDG_CACHE_HOME"] == "/var/cache/kaiku"


# Expected values by parse_env_file_internal() of systemd 252 (src/basic/env-file.c).
@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("pa$word", "pa$word"),
        ('a$b"c', 'a$b"c'),
        ("it's", "it's"),
        ("$(touch hacked) `id`; x & y", "$(touch hacked) `id`; x & y"),
        ("Kaiku <kaiku@example.org>", "Kaiku <kaiku@example.org>"),
        ('"Kaiku <kaiku@example.org>"', "Kaiku <kaiku@example.org>"),
        ("'a \"b\" \\ $c'", 'a "b" \\ $c'),
        (r'"a \"b\" \\ \$c \d"', r'a "b" \ $c \d'),
        ('"two\nlines"', "two\nlines"),
        ('"joined \\\nlines"', "joined lines"),
        (r"a\$b\\c\ ", r"a$b\c "),
        ("joined \\\nlines", "joined lines"),
        ('"one"  \'two\' three"', 'onetwothree"'),
        ("  blanks around  ", "blanks around"),
        ("a#b;c", "a#b;c"),
        ("", ""),
        ("a=b==", "a=b=="),
        ("påssord", "påssord"),
    ],
)
def test_a_value_is_read_as_systemd_reads_it(tmp_path: Path, written: str, read: str) -> None:
    around = f"# it's a \"remark\nFIRST=1\n; another 'one\n\nSMTP_PASSWORD={written}\nno assignment\n  LAST = 2\n"
    _, _, environment = ran(tmp_path, around, "check")
    assert [environment.get(name) for name in ("FIRST", "SMTP_PASSWORD", "LAST")] == ["1", read, "2"]
    assert not (tmp_path / "hacked").exists()


def test_the_last_of_two_lines_counts_also_for_a_folder(tmp_path: Path) -> None:
    _, _, environment = ran(tmp_path, "KAIKU_VAR_DIR=/srv/one\nKAIKU_VAR_DIR=/srv/two", "check")
    assert environment["KAIKU_VAR_DIR"] == "/srv/two"
