"""Scripts of alice and bob that log with tokens of their own."""

from __future__ import annotations

import pytest

from jobs.models import User
from tests.portal.mlflow.tracking import Tracking, logging_token

collect_ignore = ["training"]
"""Scripts for the Python of a client."""


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create(username="alice")


@pytest.fixture
def bob(db: None) -> User:
    return User.objects.create(username="bob")


@pytest.fixture
def script(alice: User) -> Tracking:
    """A script of alice's."""
    return Tracking(logging_token(alice))


@pytest.fixture
def other(bob: User) -> Tracking:
    """A script of bob's, who shares nothing with alice."""
    return Tracking(logging_token(bob))
