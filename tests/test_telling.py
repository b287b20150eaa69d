"""The summary of a suite in phases, and what is told of a test from its code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tests.kinds import STARTING, reached
from tests.processes import PATIENCE_S
from tests.telling import main, summary, using

ROOT = Path(__file__).parents[1]
TESTS = """
import pytest

@pytest.mark.parametrize("number", range(4))
def test_a_number(number):
    assert number != 3
"""
SQLITE = {
    "phase": "1 of 2: on SQLite",
    "seconds": 61.4,
    "outcomes": {
        "t.py::test_a": "passed",
        "t.py::test_b[1]": "skipped",
        "t.py::test_c": "skipped",
        "t.py::test_d": "failed",
    },
    "reasons": {"t.py::test_b[1]": "needs the tests' PostgreSQL", "t.py::test_c": "needs nginx (nginx)"},
    "slowest": [["t.py::test_a", 12.0], ["t.py::test_d", 0.5]],
    "uses": {"t.py::test_a": [["nginx"], []], "t.py::test_c": [[], ["nginx"]], "t.py::test_d": [[], []]},
}
POSTGRESQL = {
    "phase": "2 of 2: on PostgreSQL",
    "seconds": 5.0,
    "outcomes": {"t.py::test_b[2]@redis": "passed"},
    "reasons": {},
    "slowest": [["t.py::test_b[2]@redis", 3.0]],
    "uses": {},
}


def test_what_one_phase_left_out_and_another_ran_is_not_left_out() -> None:
    assert list(summary([SQLITE, POSTGRESQL], ["4 of 4: no hosts"])) == [
        "== summary",
        "1 of 2: on SQLite: 1 passed, 1 failed, 2 not in this phase, 61 s",
        "2 of 2: on PostgreSQL: 1 passed, 0 failed, 0 not in this phase, 5 s",
        "Left out: 1 test",
        "      1  needs nginx (nginx)",
        "    all  4 of 4: no hosts",
        "The slowest 10:",
        "  12.0 s  t.py::test_a",
        "   3.0 s  t.py::test_b[2]@redis",
        "   0.5 s  t.py::test_d",
        "Failed: 1",
        "  t.py::test_d",
    ]


@pytest.mark.parametrize(
    ("what", "names"), [("parts", ["t.py::test_c"]), ("programs", ["t.py::test_a", "t.py::test_c"])]
)
def test_the_tests_that_depend_on_the_machine_are_told_by_what_they_used(what: str, names: list[str]) -> None:
    assert list(using([SQLITE, POSTGRESQL], what)) == names


def test_a_folder_without_phases_has_a_summary_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(tmp_path)
    assert capsys.readouterr().out == "== summary\nLeft out: 0 tests\nThe slowest 10:\n"


class Started:
    def __init__(self) -> None:
        self.thread = threading.Thread(target=print, daemon=True)


def by_a_class() -> object:
    return Started()


def nested() -> object:
    return [subprocess.run for _ in range(1)]


def plain() -> int:
    return len("subprocess")


@pytest.mark.parametrize(("function", "is_starting"), [(by_a_class, True), (nested, True), (plain, False)])
def test_what_code_reaches_is_read_through_the_helpers_of_the_tests(function: object, is_starting: bool) -> None:
    assert (not STARTING.isdisjoint(reached(function))) == is_starting


def test_a_phase_that_is_spread_tells_once(tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.mkdir()
    (tmp_path / "test_one.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "tests.telling", "-p", "xdist", "--numprocesses", "2"]
    command += ["-c", "/dev/null", "--rootdir", str(tmp_path), str(tmp_path / "test_one.py")]
    environment = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    environment |= {"KAIKU_TEST_TOLD": str(told), "KAIKU_TEST_PHASE": "1 of 1"}
    for name in [name for name in environment if name.startswith("PYTEST_XDIST")]:
        del environment[name]
    subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, check=False, timeout=PATIENCE_S)
    (file,) = told.glob("*.json")
    found = json.loads(file.read_text())
    assert sorted(found["outcomes"].values()) == ["failed", "passed", "passed", "passed"]
