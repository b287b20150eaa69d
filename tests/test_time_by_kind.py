"""The end of a run says where its time went, by kind of test, over all processes of a suite that is spread."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.processes import PATIENCE_S

ROOT = Path(__file__).parents[1]
TESTS = """
import time
import pytest
from hypothesis import given, strategies

@pytest.fixture
def slow():
    time.sleep(0.3)
    yield
    time.sleep(0.3)

@pytest.mark.browser
@pytest.mark.programs
def test_a_page():
    time.sleep(0.5)

@pytest.mark.programs
def test_a_program(slow):
    time.sleep(0.3)

@given(strategies.booleans())
def test_any(value):
    pass

@pytest.mark.django_db
def test_a_row():
    pass

@pytest.mark.parametrize("number", range(4))
def test_a_number(number):
    pass
"""


@pytest.mark.parametrize("options", [(), ("-p", "xdist", "--numprocesses", "2")], ids=["one process", "spread"])
def test_every_test_counts_once_for_what_it_needs(tmp_path: Path, options: tuple[str, ...]) -> None:
    (tmp_path / "conftest.py").write_text(
        "from tests import time_by_kind\ntime_by_kind.SHORT_S = 0\n"
        "def pytest_configure(config):\n    config.pluginmanager.register(time_by_kind.TimeByKind())\n"
    )
    (tmp_path / "test_one.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(tmp_path), *options, str(tmp_path)]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", "PYTHONPATH": str(ROOT)}
    for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
        del environment[name]
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=PATIENCE_S)
    assert run.returncode == 0, run.stdout
    lines = re.findall(r"^ +(\d+) s +(\d+) % +(\d+) tests: (.+)$", run.stdout, re.M)
    assert {kind: int(tests) for _, _, tests, kind in lines} == {
        "browser": 1,
        "programs, servers, threads": 1,
        "hypothesis": 1,
        "rows on sqlite": 1,
        "rest": 4,
    }
    # A test takes as long as its fixtures and itself together.
    assert [kind for *_, kind in lines][:2] == ["programs, servers, threads", "browser"]
