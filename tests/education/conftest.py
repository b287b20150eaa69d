"""Stored lessons and two members of staff."""

from __future__ import annotations

import pytest
from django.contrib.auth import get_user_model

from education.models import Lesson
from education.services.seeding import store_seeds


@pytest.fixture
def seeded(db: None) -> None:
    """Every lesson Kaiku comes with, stored."""
    store_seeds()


@pytest.fixture
def overscaling(seeded: None) -> Lesson:
    return Lesson.objects.get(code="overscaling", language="en")


@pytest.fixture
def erin(db: None) -> object:
    return get_user_model().objects.create_user("erin", is_staff=True)


@pytest.fixture
def frank(db: None) -> object:
    return get_user_model().objects.create_user("frank", is_staff=True)
