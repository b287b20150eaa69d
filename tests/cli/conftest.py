"""The clock and the people of these tests."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest


@pytest.fixture
def in_utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A machine whose clock shows UTC."""
    with monkeypatch.context() as patched:
        patched.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


@pytest.fixture
def in_2026(monkeypatch: pytest.MonkeyPatch) -> None:
    """A clock of the day on which the answers were captured, 2026-11-24."""
    monkeypatch.setattr("cli.layout.time.time", lambda: 1795478400.0)
