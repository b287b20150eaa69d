"""Tests that share a Redis, a port or a browser run one after the other, in one process of the suite."""

from __future__ import annotations

import pytest


@pytest.mark.xdist_group("shared")
@pytest.mark.needs("several processes of the suite")
def test_the_suite_keeps_groups_together(request: pytest.FixtureRequest) -> None:
    """pytest-xdist tells its processes the group by the name of the test, and says nothing where that fails."""
    assert request.node.nodeid.endswith("@shared")


@pytest.fixture(scope="module")
def made_once() -> object:
    return object()


@pytest.mark.needs("several processes of the suite")
def test_the_suite_keeps_a_module_together_that_shares_a_fixture(
    made_once: object, request: pytest.FixtureRequest
) -> None:
    assert request.node.nodeid.endswith("@tests/test_groups.py")


@pytest.mark.needs("several processes of the suite")
def test_other_tests_go_wherever_there_is_room(request: pytest.FixtureRequest) -> None:
    assert "@" not in request.node.nodeid
