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
from django.utils import timezone
from bench import demo
with patch.object(demo.subprocess, "Popen"), patch.object(demo.subprocess, "run") as run:
    demo.serve(timezone.now())
print(*run.call_args.args[0][-2:])
"""


def ran(var: Path, *words: str, **variables: str) -> str:
    environ = {**os.environ, "DATABASE_URL": "", "KAIKU_VAR_DIR": str(var), **variables}
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=ROOT, env=environ, check=True, capture_output=True, text=True, timeout=60).stdout


def test_help_starts_nothing(tmp_path: Path) -> None:
    said = ran(tmp_path, "-m", "bench.demo", "--help")
    assert said.startswith("usage: python -m bench.demo")
    assert "BIND=HOST:PORT" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("bind", "served"), [("127.0.0.1:8639", "127.0.0.1:8639"), ("", "127.0.0.1:8000")])
def test_it_serves_where_bind_states(tmp_path: Path, bind: str, served: str) -> None:
    assert ran(tmp_path, "-c", SERVED, BIND=bind) == f"--bind {served}\n"
