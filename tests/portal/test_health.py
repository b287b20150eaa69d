"""Liveness and readiness, open to a probe that knows nobody."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection
from django.test import Client


def test_a_living_process_says_so() -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}


@pytest.mark.django_db
def test_a_process_with_its_database_is_ready() -> None:
    assert Client().get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_process_without_its_database_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OperationalError("connection refused at 10.0.0.1")

    monkeypatch.setattr(connection, "cursor", unreachable)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "database unreachable"})
