"""Whom sampling runs as: the site's user, else nobody, and root only where it has to."""

from __future__ import annotations

import pwd
import subprocess
import sys
from pathlib import Path

import pytest

from collector import privilege
from collector.config import Config

ROOT_ONLY = pytest.mark.needs("root")
"""Only root has rights to give up."""


def config(tmp_path: Path, user: str, options: str = "rw,nosuid") -> Config:
    made = Config()
    made.user, made.proc_root = user, str(tmp_path)
    (tmp_path / "mounts").write_text(f"sysfs /sys sysfs rw 0 0\nproc {tmp_path} proc {options} 0 0\n")
    return made


@ROOT_ONLY
def test_the_user_of_the_settings_or_else_nobody(tmp_path: Path) -> None:
    known = {name: [pwd.getpwnam(name).pw_uid, pwd.getpwnam(name).pw_gid] for name in ("daemon", "nobody")}
    assert privilege.run_as(config(tmp_path, "daemon")) == known["daemon"]
    assert privilege.run_as(config(tmp_path, "no-such-user")) == known["nobody"]
    assert privilege.run_as(config(tmp_path, "root")) is None


@ROOT_ONLY
@pytest.mark.parametrize(
    ("options", "is_hidden"),
    [
        ("rw", False),
        ("rw,hidepid=0", False),
        ("rw,hidepid=2", True),
        ("rw,hidepid=invisible", True),
        ("hidepid=1", True),
    ],
)
def test_where_processes_are_hidden_it_stays_root(tmp_path: Path, options: str, is_hidden: bool) -> None:
    assert (privilege.run_as(config(tmp_path, "nobody", options)) is None) is is_hidden


@ROOT_ONLY
def test_what_was_given_up_is_gone_for_good() -> None:
    code = (
        "import os; from collector.privilege import give_up_root; give_up_root([65534, 65534])\n"
        "print(os.getresuid(), os.getresgid(), os.getgroups())\n"
        "try: os.setuid(0)\nexcept PermissionError: print('refused')"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    nobody = (65534, 65534, 65534)
    assert done.stdout == f"{nobody} {nobody} []\nrefused\n"
