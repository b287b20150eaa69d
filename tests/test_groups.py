"""Tests that share a Redis or a port run one after the other: a group of theirs goes to one process of the suite."""

from __future__ import annotations

import os

import pytest


@pytest.mark.xdist_group("shared")
@pytest.mark.skipif("PYTEST_XDIST_WORKER" not in os.environ, reason="this suite runs in one process")
def test_the_suite_keeps_groups_together(request: pytest.FixtureRequest) -> None:
    """pytest-xdist tells its processes the group by the name of the test, and says nothing where that fails."""
    assert request.node.nodeid.endswith("@shared")
