"""What MLflow's clients log in the event loop: the same addresses, answers and errors as in the pages' threads."""

from __future__ import annotations

import asyncio
import json
from http import HTTPStatus
from typing import Any

import pytest
from django.urls import resolve

from jobs.experiments.rules import NoSuchRun
from jobs.experiments.services.points import LoggedCall
from jobs.models import User
from portal.ingest import look_ups
from portal.mlflow import views
from portal.mlflow.answers import problem
from portal.mlflow.logged import LOGGED_CALLS, READERS
from portal.tracking import asgi
from portal.tracking.asgi import Tracking, door_of

RUN = "0" * 32
AT = ("/mlflow/", "/mlflow/j/", "/mlflow/j//", "/mlflow/j/123456/", "/mlflow/j/lumi/123456/")


@pytest.fixture
def stored(monkeypatch: pytest.MonkeyPatch) -> list[LoggedCall]:
    """The calls that were stored."""
    calls: list[LoggedCall] = []

    def store(group: list[LoggedCall], patience_s: float) -> list[Any]:
        calls.extend(group)
        return [NoSuchRun() if call.run_id != RUN else None for call in group]

    monkeypatch.setattr(asgi, "store_calls", store)
    monkeypatch.setattr("portal.ingest.writer.close_old_connections", lambda: None)
    monkeypatch.setattr(look_ups, "_asked", lambda question, *about: User(pk=1, username="alice"))
    return calls


def call(name: str, **members: Any) -> tuple[int, dict[str, Any]]:
    """Status and answer of one call."""
    path = f"/mlflow/j/lumi/123456/api/2.0/mlflow/{name}"
    scope = {"type": "http", "method": "POST", "path": path, "headers": [(b"authorization", b"Bearer kaiku_log_x")]}
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": json.dumps(members).encode(), "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    found = door_of(scope)
    assert found is not None
    asyncio.run(Tracking()(*found, scope, receive, send))
    return sent[0]["status"], json.loads(sent[1]["body"])


@pytest.mark.parametrize("at", AT)
def test_what_is_logged_again_and_again_is_answered_there_and_nothing_else(at: str) -> None:
    for name in READERS:
        found = door_of({"method": "POST", "path": f"{at}api/2.0/mlflow/{name}"})
        assert found is not None
        assert found[0] is LOGGED_CALLS
        assert found[1]["name"] == name
        assert resolve(f"{at}api/2.0/mlflow/{name}").func is views.tracking
    for name in ("runs/create", "runs/log-inputs", "runs/log-metric/", "runs/update"):
        assert door_of({"method": "POST", "path": f"{at}api/2.0/mlflow/{name}"}) is None
    assert door_of({"method": "GET", "path": f"{at}api/2.0/mlflow/runs/log-metric"}) is None


def test_each_kind_of_call_is_stored(stored: list[LoggedCall]) -> None:
    assert call("runs/log-metric", run_id=RUN, key="loss", value="NaN", step=7) == (200, {})
    assert call("runs/log-parameter", run_id=RUN, key="lr", value="0.1") == (200, {})
    assert call("runs/set-tag", run_id=RUN, key="a", value="1") == (200, {})
    assert call("runs/log-batch", run_id=RUN, metrics=[{"key": "acc", "value": 1}], tags=[]) == (200, {})
    assert [[point.name for point in each.points] for each in stored] == [["loss"], [], [], ["acc"]]
    assert (stored[1].params, stored[2].tags) == ({"lr": "0.1"}, {"a": "1"})
    assert all(each.job is None for each in stored)


def test_what_is_not_accepted_is_said_in_the_words_of_the_client(stored: list[LoggedCall]) -> None:
    status, answer = call("runs/log-metric", run_id="1" * 32, key="loss", value=1)
    assert (status, answer["error_code"]) == (404, "RESOURCE_DOES_NOT_EXIST")
    status, answer = call("runs/log-metric", run_id=RUN, key="loss", value="much")
    assert (status, answer["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    status, answer = call("runs/log-batch", run_id=RUN, new="x" * 2**20)
    assert (status, answer["error_code"]) == (413, "INVALID_PARAMETER_VALUE")


@pytest.mark.parametrize(
    ("status", "code"),
    [
        (HTTPStatus.UNAUTHORIZED, "UNAUTHENTICATED"),
        (HTTPStatus.FORBIDDEN, "PERMISSION_DENIED"),
        (HTTPStatus.BAD_REQUEST, "INVALID_PARAMETER_VALUE"),
        (HTTPStatus.REQUEST_TIMEOUT, "TEMPORARILY_UNAVAILABLE"),
        (HTTPStatus.INTERNAL_SERVER_ERROR, "INTERNAL_ERROR"),
        (HTTPStatus.SERVICE_UNAVAILABLE, "TEMPORARILY_UNAVAILABLE"),
    ],
)
def test_a_failure_has_a_code_and_states_no_time_to_wait(status: HTTPStatus, code: str) -> None:
    answer = problem(status, "why", {"Retry-After": "30", "WWW-Authenticate": "Bearer"})
    assert answer.status == status
    assert json.loads(answer.content) == {"error_code": code, "message": "why"}
    assert answer.headers == {"WWW-Authenticate": "Bearer"}
