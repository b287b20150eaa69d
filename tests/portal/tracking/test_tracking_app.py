"""Points in the event loop: what waits is committed together, and under pressure calls are thinned, not refused."""

from __future__ import annotations

import asyncio
import gzip
import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError

from jobs.experiments.rules import NoSuchRun
from jobs.experiments.services.points import LoggedCall
from jobs.models import User
from portal.ingest import look_ups
from portal.tracking import asgi
from portal.tracking.asgi import Tracking, door_of
from tests.processes import PATIENCE_S

RUN = "0" * 32
PATH = f"/api/v1/runs/{RUN}/metrics"
Told = tuple[int, dict[str, Any], dict[str, str]]


class Store:
    """A store that records the calls it gets together, and waits while it is closed."""

    def __init__(self) -> None:
        self.groups: list[list[LoggedCall]] = []
        self.error: Exception | None = None
        self.outcome: Any = None
        self.is_open, self.was_called = threading.Event(), threading.Event()
        self.is_open.set()

    def __call__(self, calls: list[LoggedCall], patience_s: float) -> list[Any]:
        self.groups.append(list(calls))
        self.was_called.set()
        assert self.is_open.wait(PATIENCE_S)
        if self.error:
            raise self.error
        return [self.outcome] * len(calls)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    made = Store()
    monkeypatch.setattr(asgi, "store_calls", made)
    monkeypatch.setattr("portal.ingest.writer.close_old_connections", lambda: None)
    monkeypatch.setattr(look_ups, "_asked", lambda question, *about: User(pk=1, username="alice"))
    yield made
    made.is_open.set()


async def call(tracking: Tracking, body: Any, **headers: str) -> Told:
    """Status, answer and head of one call."""
    sent: list[dict[str, Any]] = []
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"authorization": "Bearer kaiku_log_x", "content-type": "application/json"} | headers
    messages = [{"type": "http.request", "body": content, "more_body": False}]
    scope = {
        "type": "http",
        "method": "POST",
        "path": PATH,
        "headers": [(name.encode(), value.encode()) for name, value in given.items()],
    }

    async def receive() -> dict[str, Any]:
        return messages.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    found = door_of(scope)
    assert found is not None
    await tracking(*found, scope, receive, send)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], json.loads(sent[1]["body"]), head


def points(number: int) -> list[dict[str, Any]]:
    return [{"name": "loss", "value": (step - 7) ** 2, "step": step, "time": 1.7e9 + step} for step in range(number)]


def test_calls_that_wait_are_committed_together_and_each_is_told_of_its_own(store: Store) -> None:
    async def many() -> list[Told]:
        tracking = Tracking()
        store.is_open.clear()
        first = asyncio.create_task(call(tracking, points(1)))
        while not store.was_called.is_set():
            await asyncio.sleep(0.01)
        others = [asyncio.create_task(call(tracking, points(number))) for number in (2, 3, 4)]
        while tracking.commit.writer.waiting_records < 3:
            await asyncio.sleep(0.01)
        store.is_open.set()
        return [await first, *[await other for other in others]]

    told = asyncio.run(many())
    assert [status for status, _, _ in told] == [201] * 4
    assert [answer["accepted"] for _, answer, _ in told] == [1, 2, 3, 4]
    assert [len(group) for group in store.groups] == [1, 3]


def test_under_pressure_points_are_thinned_and_counted_and_nobody_is_refused(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Twenty points (step - 7)^2 are their ends and their least: steps 0, 7 and 19; 17 are left out."""
    monkeypatch.setattr(asgi, "THIN_ABOVE", 0.0)
    status, answer, _ = asyncio.run(call(Tracking(), points(20)))
    ((stored,),) = store.groups
    assert (status, answer["accepted"]) == (201, 20)
    assert [point.step for point in stored.points] == [0, 7, 19]
    assert stored.thinned == 17


def test_a_packed_body_is_unpacked_within_the_limit(store: Store) -> None:
    status, answer, _ = asyncio.run(
        call(Tracking(), gzip.compress(json.dumps(points(5)).encode()), **{"content-encoding": "gzip"})
    )
    assert (status, answer["accepted"]) == (201, 5)
    bomb = gzip.compress(b" " * 2**22)
    assert asyncio.run(call(Tracking(), bomb, **{"content-encoding": "gzip"}))[0] == 413
    assert asyncio.run(call(Tracking(), b"x", **{"content-encoding": "br"}))[0] == 400


def test_a_run_that_is_not_theirs_is_not_found(store: Store) -> None:
    store.outcome = NoSuchRun()
    status, answer, head = asyncio.run(call(Tracking(), points(1)))
    assert status == 404
    assert answer["detail"] == "There is no such run of yours."
    assert head["content-type"] == "application/problem+json"


def test_an_unreachable_database_asks_to_try_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    store.error = OperationalError("connection refused")
    status, _, head = asyncio.run(call(Tracking(), points(1)))
    assert status == 503
    assert int(head["retry-after"]) > 0


def test_an_unexpected_error_is_one_answer_and_the_next_call_is_stored(store: Store) -> None:
    async def two() -> list[int]:
        tracking = Tracking()
        store.error = ValueError("odd")
        first = await call(tracking, points(1))
        store.error = None
        return [first[0], (await call(tracking, points(1)))[0]]

    assert asyncio.run(two()) == [500, 201]


@pytest.mark.parametrize(
    ("method", "path", "is_here"),
    [
        ("POST", PATH, True),
        ("POST", f"{PATH}/", True),
        ("GET", PATH, False),
        ("POST", "/api/v1/runs/xyz/metrics", False),
        ("POST", f"/api/v1/runs/{RUN}/artifacts", False),
    ],
)
def test_only_calls_that_log_points_come_here(method: str, path: str, is_here: bool) -> None:
    assert (door_of({"method": method, "path": path}) is not None) is is_here
