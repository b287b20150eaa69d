"""The ingest in the event loop: what waits is stored together, and what there is no room for comes again."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from itertools import accumulate, chain, cycle
from types import SimpleNamespace
from typing import Any

import pytest
from django.db import OperationalError

from portal import asgi_bodies
from portal.ingest import asgi, look_ups, writer
from portal.ingest.asgi import Ingest
from portal.ingest.senders import Sender
from portal.ingest.services import KINDS
from tests.payloads import raw_samples, summary
from tests.processes import PATIENCE_S

PATHS = {"summaries": "/api/v1/ingest/node-summaries", "raw": "/api/v1/ingest/raw-samples"}


class Store:
    """In place of the database: says how many came together, and waits until it is let go."""

    def __init__(self) -> None:
        self.groups: list[int] = []
        self.error: Exception | None = None
        self.faulty: set[int] = set()
        self.is_open = threading.Event()
        self.is_open.set()
        self.was_called = threading.Event()

    def __call__(self, items: list[Any], patience_s: float) -> list[bool]:
        self.groups.append(len(items))
        self.was_called.set()
        assert self.is_open.wait(PATIENCE_S)
        if self.error:
            raise self.error
        if len(items) in self.faulty:
            raise ValueError("so many")
        return [True] * len(items)


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    made = Store()
    monkeypatch.setattr(asgi, "store", made)
    monkeypatch.setattr(writer, "close_old_connections", lambda: None)
    monkeypatch.setattr(look_ups, "_asked", lambda question, *about: None if question is asgi.raw_load else COLLECTOR)
    yield made
    made.is_open.set()


COLLECTOR = Sender("nodes", KINDS)


Told = tuple[int, dict[str, Any], dict[str, str]]


async def call(ingest: Ingest, what: str, *documents: dict[str, Any], is_whole: bool = True) -> Told:
    """Status, answer and head of one call, whose body is all there or has no end."""
    sent: list[dict[str, Any]] = []
    body = json.dumps(documents).encode()
    messages = [{"type": "http.request", "body": body, "more_body": not is_whole}]
    headers = [(b"authorization", b"Bearer x"), (b"content-type", b"application/json")]

    async def receive() -> dict[str, Any]:
        if not messages:
            await asyncio.sleep(60)
        return messages.pop()

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    await ingest({"method": "POST", "path": PATHS[what], "headers": headers}, receive, send)
    head = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return sent[0]["status"], json.loads(sent[1]["body"]), head


async def until_stored(store: Store) -> None:
    await asyncio.to_thread(store.was_called.wait, 30)


async def waiting_calls(store: Store) -> list[asyncio.Task[Any]]:
    """Four calls with 1, 1, 2 and 3 records: the first is being stored, the others wait together."""
    ingest = Ingest()
    store.is_open.clear()
    first = asyncio.create_task(call(ingest, "summaries", summary()))
    await until_stored(store)
    others = [asyncio.create_task(call(ingest, "summaries", *[summary()] * times)) for times in (1, 2, 3)]
    while ingest.writer._records < 6:
        await asyncio.sleep(0)
    return [first, *others]


def test_what_comes_during_one_commit_is_stored_in_the_next_and_each_is_told_its_own(store: Store) -> None:
    async def run() -> list[tuple[int, int]]:
        calls = await waiting_calls(store)
        store.is_open.set()
        return [(status, said["accepted"]) for status, said, _ in await asyncio.gather(*calls)]

    assert asyncio.run(run()) == [(201, 1), (201, 1), (201, 2), (201, 3)]
    assert store.groups == [1, 6]


def test_a_group_is_never_larger_than_one_transaction_and_long_calls_take_several(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "GROUP_RECORDS", 4)

    async def run() -> list[int]:
        ingest = Ingest()
        store.is_open.clear()
        first = asyncio.create_task(call(ingest, "summaries", summary()))
        await until_stored(store)
        others = [asyncio.create_task(call(ingest, "summaries", *[summary()] * times)) for times in (3, 2, 2, 9)]
        while ingest.writer._records < 16:
            await asyncio.sleep(0)
        store.is_open.set()
        return [status for status, _, _ in await asyncio.gather(first, *others)]

    assert asyncio.run(run()) == [201] * 5
    assert store.groups == [1, 3, 4, 4, 4, 1]


def test_transactions_that_take_long_hold_fewer_records(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "GROUP_SHARE", 0.0)
    status, said, _ = asyncio.run(call(Ingest(), "summaries", *[summary()] * 190))
    assert (status, said["accepted"]) == (201, 190)
    assert store.groups == [100, 50, 25, 12, 3]


@pytest.mark.parametrize(
    ("took_s", "groups"),
    [
        # The goal is 40 % of ten seconds. After the first, which took longer, 50 records are stored together.
        (1.9, [100, 50, 100, 50]),
        (2.1, [100, 50, 50, 50, 50]),
        (3.9, [100, 50, 50, 50, 50]),
    ],
)
def test_they_hold_more_again_once_half_the_goal_is_enough(
    store: Store, monkeypatch: pytest.MonkeyPatch, settings, took_s: float, groups: list[int]
) -> None:
    settings.INGEST_PATIENCE_S = 10.0
    clock = accumulate(chain([0.0, 4.1], cycle([0.0, took_s])))
    monkeypatch.setattr(writer, "time", SimpleNamespace(monotonic=lambda: next(clock)))
    asyncio.run(call(Ingest(), "summaries", *[summary()] * 300))
    assert store.groups == groups


def test_the_rest_of_a_long_call_waits_behind_the_others(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "GROUP_RECORDS", 4)

    async def run() -> None:
        ingest = Ingest()
        store.is_open.clear()
        long = asyncio.create_task(call(ingest, "summaries", *[summary()] * 10))
        await until_stored(store)
        short = asyncio.create_task(call(ingest, "summaries", *[summary()] * 3))
        while ingest.writer._records < 9:
            await asyncio.sleep(0)
        store.is_open.set()
        await short
        assert (await long)[1]["accepted"] == 10

    asyncio.run(run())
    assert store.groups == [4, 3, 4, 2]


def test_where_there_is_no_room_senders_are_told_to_come_again(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Raw samples go first, then summaries of runs that go on, then the others."""
    monkeypatch.setattr(writer, "WAITING_RECORDS_MAX", 8)

    async def run() -> dict[str, int]:
        ingest, told = Ingest(), {}
        store.is_open.clear()
        taken = [asyncio.create_task(call(ingest, "summaries", summary()))]
        await until_stored(store)
        for waiting, what, document in (
            (0, "raw", raw_samples()),
            (2, "raw", raw_samples()),
            (2, "summaries", summary(final=False)),
            (4, "summaries", summary(final=False)),
            (4, "summaries", summary()),
            (8, "summaries", summary()),
        ):
            while ingest.writer._records < waiting:
                taken.append(asyncio.create_task(call(ingest, "summaries", summary())))
                await asyncio.sleep(0.01)
            ingest.writer._records = waiting
            task = asyncio.create_task(call(ingest, what, document))
            done, _ = await asyncio.wait([task], timeout=0.2)
            name = f"{what} {'interim' if document.get('final') is False else ''} at {waiting}"
            told[name] = task.result()[0] if done else 0
            taken.append(task)
        store.is_open.set()
        await asyncio.gather(*taken)
        return told

    assert asyncio.run(run()) == {
        "raw  at 0": 0,
        "raw  at 2": 503,
        "summaries interim at 2": 0,
        "summaries interim at 4": 503,
        "summaries  at 4": 0,
        "summaries  at 8": 503,
    }


def test_a_database_that_hangs_is_told_of_at_once_to_whoever_waits_and_to_whoever_comes(store: Store, settings) -> None:
    settings.INGEST_PATIENCE_S = 0.2

    async def run() -> list[tuple[int, str, str]]:
        ingest = Ingest()
        store.is_open.clear()
        first = asyncio.create_task(call(ingest, "summaries", summary()))
        await until_stored(store)
        answers = [await first, await call(ingest, "summaries", summary())]
        store.is_open.set()
        while ingest.writer.busy_s:
            await asyncio.sleep(0.01)
        answers.append(await call(ingest, "summaries", summary()))
        return [(status, said.get("detail", ""), head.get("retry-after", "")) for status, said, head in answers]

    hanging, coming, after = asyncio.run(run())
    assert hanging == coming == (503, "The database does not answer in time. Please try again later.", "5")
    assert after == (201, "", "")
    assert store.groups == [1, 1], "what was turned away is not stored behind anybody's back"


def test_a_database_that_is_away_is_nobodys_fault(store: Store) -> None:
    store.error = OperationalError("no route to host")
    status, said, head = asyncio.run(call(Ingest(), "summaries", summary()))
    assert (status, head["retry-after"]) == (503, "30")
    assert "route" not in said["detail"]


def test_a_fault_of_ours_is_a_500_that_says_nothing(store: Store) -> None:
    store.error = RuntimeError("a secret")
    status, said, _ = asyncio.run(call(Ingest(), "summaries", summary()))
    assert status == 500
    assert "secret" not in json.dumps(said)


def test_a_fault_in_one_call_costs_those_that_were_stored_with_it_nothing(store: Store) -> None:
    async def run() -> list[int]:
        calls = await waiting_calls(store)
        store.faulty = {6, 2}
        store.is_open.set()
        return [status for status, _, _ in await asyncio.gather(*calls)]

    assert asyncio.run(run()) == [201, 201, 500, 201]
    assert store.groups == [1, 6, 1, 2, 3]


def test_bodies_that_fill_the_memory_or_never_end_are_given_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call holds its room until it is answered, and gives it back."""
    body = len(json.dumps([summary()]))
    monkeypatch.setattr(asgi_bodies, "TOGETHER_BYTES_MAX", 2 * body)
    monkeypatch.setattr(asgi_bodies, "BODY_S", 0.05)

    async def run() -> list[int]:
        ingest = Ingest()
        store.is_open.clear()
        waiting = [asyncio.create_task(call(ingest, "summaries", summary())) for _ in range(2)]
        await until_stored(store)
        refused = await call(ingest, "summaries", summary())
        store.is_open.set()
        taken = [(await each)[0] for each in waiting]
        slow = await call(ingest, "summaries", summary(), is_whole=False)
        again = await call(ingest, "summaries", summary())
        return [*taken, refused[0], slow[0], again[0]]

    assert asyncio.run(run()) == [201, 201, 503, 408, 201]


def test_look_ups_of_tokens_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(look_ups, "LOOK_UPS_MAX", 0)
    assert asyncio.run(call(Ingest(), "summaries", summary()))[0] == 503


def test_one_who_leaves_in_the_middle_of_a_body_is_answered_nothing(store: Store) -> None:
    async def run() -> list[object]:
        sent: list[object] = []
        messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": b"{", "more_body": True}]

        async def receive() -> dict[str, Any]:
            return messages.pop()

        async def send(message: object) -> None:
            sent.append(message)

        headers = [(b"authorization", b"Bearer x")]
        await Ingest()({"method": "POST", "path": PATHS["summaries"], "headers": headers}, receive, send)
        return sent

    assert asyncio.run(run()) == []
