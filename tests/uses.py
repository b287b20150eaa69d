"""What each test uses beside Python: programs that it starts, the parts that it asks for.

Every phase tells it (`tests.telling`), so that the tests which depend on the machine can be run alone where it differs:
KAIKU_TEST_LIKE names a file with these tests, one a line, without their cases.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.parts import asked

PROPERTY = "uses"
OF_PYTHON = ("python", "kaiku", "celery")
"""Programs of this checkout and its environment: they are what everybody has."""

_used: set[str] = set()


@sys.addaudithook
def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen":
        program, command = arguments[:2]
        name = Path(os.fsdecode(program or command[0])).name
        if not name.startswith(OF_PYTHON):
            _used.add(name)
    elif event in ("os.chown", "os.fork"):
        _used.add(event)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _used.clear()
    asked.clear()
    return (yield)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    item.user_properties[:] = [each for each in item.user_properties if each[0] != PROPERTY]
    item.user_properties.append((PROPERTY, [sorted(_used), sorted(asked)]))
    return (yield)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Runs of pytest that a test starts choose theirs themselves.
    wanted = os.environ.pop("KAIKU_TEST_LIKE", "")
    if wanted:
        names = set(Path(wanted).read_text().splitlines())
        config.hook.pytest_deselected(items=[item for item in items if without_case(item.nodeid) not in names])
        items[:] = [item for item in items if without_case(item.nodeid) in names]


def without_case(name: str) -> str:
    """The name of a test without its case and the group that pytest-xdist adds."""
    return name.partition("[")[0].partition("@")[0]
