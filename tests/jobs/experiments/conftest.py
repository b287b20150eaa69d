"""Two people who log runs."""

from __future__ import annotations

import pytest

from jobs.models import User


@pytest.fixture
def alice() -> User:
    return User.objects.create(username="alice")


@pytest.fixture
def bob() -> User:
    return User.objects.create(username="bob")
