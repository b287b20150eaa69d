"""`python -m demo`: its help, and where it serves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import PATIENCE_S, is_alive, wait_until

ROOT = Path(__file__).parents[2]
SERVED = """
from unittest.mock import patch
from django.utils import timezone
from demo import __main__ as demo
with patch.object(demo.subprocess, "Popen") as started:
    demo.serve(timezone.now())
print(*started.call_args.args[0][-2:])
"""
ENDED = """
import sys
from django.utils import timezone
from demo import __main__ as demo
sys.executable = sys.argv[1]
demo.serve(timezone.now())
"""


def ran(var: Path, *words: str, **variables: str) -> str:
    environ = {**os.environ, "DATABASE_URL": "", "KAIKU_VAR_DIR": str(var), **variables}
    command = [sys.executable, *words]
    return subprocess.run(
        command, cwd=ROOT, env=environ, check=True, capture_output=True, text=True, timeout=PATIENCE_S
    ).stdout


def test_help_starts_nothing(tmp_path: Path) -> None:
    said = ran(tmp_path, "-m", "demo", "--help")
    assert said.startswith("usage: python -m demo")
    assert "BIND=HOST:PORT" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("bind", "served"), [("127.0.0.1:8639", "127.0.0.1:8639"), ("", "127.0.0.1:8000")])
def test_it_serves_where_bind_states(tmp_path: Path, bind: str, served: str) -> None:
    assert ran(tmp_path, "-c", SERVED, BIND=bind) == f"--bind {served}\n"


def test_its_end_ends_the_portal_and_the_worker(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/$$.started\nexec sleep 300\n")
    program.chmod(0o755)
    environ = {**os.environ, "DATABASE_URL": "", "KAIKU_VAR_DIR": str(tmp_path)}
    demo = subprocess.Popen([sys.executable, "-c", ENDED, program], cwd=ROOT, env=environ)
    try:
        wait_until("portal and worker", lambda: len(list(tmp_path.glob("*.started"))) == 2)
        demo.terminate()
        assert demo.wait(PATIENCE_S) == 0
        assert [file.stem for file in tmp_path.glob("*.started") if is_alive(int(file.stem))] == []
    finally:
        demo.kill()
