"""What an operator does wrong is one line that names what and where, and a status that is not 0."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from django.core.management import call_command
from django.core.management.base import CommandError

ROOT = Path(__file__).resolve().parents[2]
MANAGE, CELERY = (sys.executable, "manage.py"), (sys.executable, "-m", "celery")
SERVER = {"DATABASE_URL": "postgres://kaiku@db.invalid/kaiku", "SECRET_KEY": "k", "ALLOWED_HOSTS": "kaiku.example"}


def run(*command: str, **environment: str) -> tuple[int, list[str]]:
    """The status of a command with nothing but this environment, and its lines on standard error."""
    kept = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ}
    done = subprocess.run(command, cwd=ROOT, env=kept | environment, capture_output=True, text=True, check=False)
    return done.returncode, done.stderr.splitlines()


@pytest.mark.parametrize("where", ["", "no/such/folder/report.txt"])
@pytest.mark.parametrize("command", ["report", "preview_mail"])
def test_a_file_that_cannot_be_written_is_named(reported, tmp_path: Path, command: str, where: str) -> None:
    reported(1)
    path = tmp_path / where
    reason = "No such file or directory" if where else "Is a directory"
    with pytest.raises(CommandError, match=rf"^{path}: cannot be written: {reason}$"):
        call_command(command, "lumi/1", output=str(path))


@pytest.mark.parametrize(
    ("under", "reason"), [("a file", "Not a directory"), ("a file/below", "Not a directory"), (None, "")]
)
@pytest.mark.parametrize("secret", [{}, {"SECRET_KEY": "k"}])
def test_a_data_directory_that_cannot_be_used_ends_the_start(
    tmp_path: Path, under: str | None, reason: str, secret: dict[str, str]
) -> None:
    (tmp_path / "a file").write_text("")
    path = "/proc/kaiku" if under is None else str(tmp_path / under)
    status, lines = run(*MANAGE, "report", "lumi/1", KAIKU_VAR_DIR=path, **secret)
    assert (status, len(lines)) == (1, 1)
    assert lines[0].startswith(f"Not started: KAIKU_VAR_DIR: cannot write to {path}: {reason}")


def test_a_data_directory_is_created_where_there_is_none(tmp_path: Path) -> None:
    status, _ = run(*MANAGE, "check", KAIKU_VAR_DIR=str(tmp_path / "new" / "var"), SECRET_KEY="k")
    assert status == 0
    assert (tmp_path / "new" / "var").is_dir()


@pytest.mark.parametrize("program", [(*MANAGE, "check"), (*CELERY, "-A", "portal", "worker")], ids=["manage", "celery"])
def test_a_server_without_its_key_says_so_in_one_line(tmp_path: Path, program: tuple[str, ...]) -> None:
    status, lines = run(*program, DATABASE_URL=SERVER["DATABASE_URL"], KAIKU_VAR_DIR=str(tmp_path))
    assert (status, lines) == (1, ["Not started: SECRET_KEY or SECRET_KEY_FILE is required with DATABASE_URL"])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"DATABASE_URL": "kaiku:hidden@db"}, "DATABASE_URL must look like postgres://"),
        ({"DATABASE_URL": "postgres://kaiku:hidden@db:99999/kaiku"}, "DATABASE_URL must look like postgres://"),
        ({"DATABASE_URL": "mysql://kaiku:hidden@db/kaiku"}, "DATABASE_URL must look like postgres://"),
        ({"REDIS_URL": "hidden:6379"}, "REDIS_URL must look like redis://HOST:6379/0"),
        ({"TIME_ZONE": "Nowhere"}, "TIME_ZONE: 'Nowhere' is not a known time zone"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_without_its_secret(
    tmp_path: Path, wrong: dict[str, str], said: str
) -> None:
    status, lines = run(*MANAGE, "check", **(SERVER | {"KAIKU_VAR_DIR": str(tmp_path)} | wrong))
    assert (status, len(lines)) == (1, 1)
    assert lines[0].startswith(f"Not started: {said}")
    assert "hidden" not in lines[0]


def test_a_database_without_tables_names_the_command_that_makes_them(tmp_path: Path) -> None:
    status, lines = run(*MANAGE, "report", "lumi/1", KAIKU_VAR_DIR=str(tmp_path))
    assert (status, lines) == (
        1,
        ["Not done: the database does not fit this version (no such table: jobs_job): run manage.py migrate"],
    )


def test_a_database_that_does_not_answer_is_one_line(tmp_path: Path) -> None:
    status, lines = run(*MANAGE, "report", "lumi/1", **SERVER, KAIKU_VAR_DIR=str(tmp_path))
    assert (status, len(lines)) == (1, 1)
    assert lines[0].startswith("Not done: the database cannot be used: ")
    assert "db.invalid" in lines[0]
    shown, whole = run(*MANAGE, "report", "lumi/1", "--traceback", **SERVER, KAIKU_VAR_DIR=str(tmp_path))
    assert (shown, whole[0]) == (1, "Traceback (most recent call last):")


def test_the_test_runner_rejects_what_pytest_does_not_know_once() -> None:
    status, lines = run("tests/run", "--bogus", PYTHON_BIN=str(Path(sys.executable).parent))
    assert status == 2
    assert lines == ["tests/run: nothing was run: unrecognized arguments: --bogus"]


def test_a_server_does_not_share_the_port_of_another_program(tmp_path: Path) -> None:
    """The processes of one server share its port, so a second server could, and would answer half of the requests."""
    with socket.create_server(("127.0.0.1", 0), reuse_port=True) as other:
        where = f"127.0.0.1:{other.getsockname()[1]}"
        status, lines = run(*MANAGE, "serve", "--bind", where, KAIKU_VAR_DIR=str(tmp_path))
    assert (status, len(lines)) == (1, 1)
    assert f"--bind: cannot listen at {where}: " in lines[0]
    assert "Address already in use" in lines[0]
