"""Rules of the suite itself, read from its source: it leaves nothing alive, and asks for parts in one place."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
SOURCES = {
    str(path.relative_to(TESTS)): path.read_text() for path in sorted(TESTS.rglob("*.py")) if path != Path(__file__)
}
LEAVING_OUT = ("pytest.skip(", "pytest.importorskip(", "pytest.mark.skip", "shutil.which(")


def test_every_thread_ends_with_the_process_that_started_it() -> None:
    """Whoever waits for one joins it; a fixture that fails half-way does not."""
    holding = [
        f"{name}:{call.lineno}"
        for name, source in SOURCES.items()
        if "Thread(" in source
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func) in ("Thread", "threading.Thread")
        and "daemon=True" not in map(ast.unparse, call.keywords)
    ]
    assert holding == []


def test_a_test_is_left_out_for_a_part_that_the_table_knows() -> None:
    elsewhere = [name for name, source in SOURCES.items() if any(each in source for each in LEAVING_OUT)]
    assert elsewhere == ["parts.py"]


def test_what_needs_slurm_is_where_the_suite_looks_for_it() -> None:
    mark = "pytest.mark.slurm"
    marked = [
        name
        for name, source in SOURCES.items()
        if mark in source
        and any(isinstance(each, ast.Attribute) and ast.unparse(each) == mark for each in ast.walk(ast.parse(source)))
    ]
    assert marked
    assert [name for name in marked if not name.startswith("slurm/")] == []


@pytest.mark.parametrize("name", ["slurm", "hosts"])
def test_every_file_of_a_folder_of_its_own_has_its_mark(name: str) -> None:
    files = [source for path, source in SOURCES.items() if path.startswith(f"{name}/test_")]
    assert files
    assert all(f"pytest.mark.{name}" in source for source in files)
