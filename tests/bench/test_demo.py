"""`python -m bench.demo`: its help, and where it serves."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SERVED = """
from unittest.mock import patch
from bench import demo
with patch.object(demo.subprocess, "Popen"), patch.object(demo.subprocess, "run") as run:
    demo.serve()
print(*run.call_args.args[0][-2:])
"""


def ran(*words: str, **variables: str) -> str:
    environ = {**os.environ, "DATABASE_URL": "", **variables}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=ROOT, env=environ, check=True, capture_output=True, text=True, timeout=60).stdout


def test_help_starts_nothing() -> None:
    said = ran("-m", "bench.demo", "--help")
    assert said.startswith("usage: python -m bench.demo")
    assert "BIND=HOST:PORT" in said


@pytest.mark.parametrize(("bind", "served"), [("127.0.0.1:8639", "127.0.0.1:8639"), ("", "127.0.0.1:8000")])
def test_it_serves_where_bind_states(bind: str, served: str) -> None:
    assert ran("-c", SERVED, BIND=bind) == f"--bind {served}\n"
