"""Readiness of the ingest alone: told soon whatever the database does, and beside what senders wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

from portal.ingest import readiness
from portal.ingest.readiness import Readiness
from portal.ingest.writer import Writer
from portal.system.readiness import OK, Part, status_of
from portal.troubles import Trouble
from tests.processes import PATIENCE_S


class Database:
    """In place of the real one: counts how often it is asked, and answers once it is let go."""

    def __init__(self) -> None:
        self.asked, self.found = 0, None
        self.is_open = threading.Event()

    def __call__(self) -> list[Part]:
        self.asked += 1
        assert self.is_open.wait(PATIENCE_S)
        return [Part("database"), Part("storing", self.found.status if self.found else OK)]


@pytest.fixture
def database(monkeypatch: pytest.MonkeyPatch) -> Iterator[Database]:
    made = Database()
    monkeypatch.setattr(readiness, "_asked", made)
    yield made
    made.is_open.set()


def writer() -> Writer:
    return Writer(lambda came: None, lambda items, patience_s: [True] * len(items), "writer")


async def status(ready: Readiness) -> str:
    return status_of(await ready.parts())


def test_a_database_that_hangs_is_unreachable_and_is_asked_by_one_thread_alone(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(readiness, "ANSWER_S", 0.05)

    async def run() -> None:
        ready = Readiness(writer())
        assert await asyncio.gather(*(status(ready) for _ in range(20))) == [Trouble.UNREACHABLE.status] * 20
        assert await status(ready) == Trouble.UNREACHABLE.status
        assert database.asked == 1
        monkeypatch.setattr(readiness, "ANSWER_S", 30)
        database.is_open.set()
        assert await status(ready) == OK

    asyncio.run(run())


def test_what_the_database_cannot_do_is_asked_anew_by_each_probe(database: Database) -> None:
    database.is_open.set()

    async def run() -> list[str]:
        ready, said = Readiness(writer()), []
        for database.found in (None, Trouble.READ_ONLY, Trouble.DISK_FULL, None):
            said.append(await status(ready))
        return said

    assert asyncio.run(run()) == [OK, "database read-only", "disk full", OK]
    assert database.asked == 4


def test_a_writer_that_does_not_get_on_cannot_store(
    database: Database, settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    database.is_open.set()
    busy = writer()
    for busy_s, found in ((1.5, OK), (1.6, Trouble.BUSY.status)):
        settings.INGEST_PATIENCE_S = 1.5
        monkeypatch.setattr(Writer, "busy_s", busy_s)
        assert asyncio.run(status(Readiness(busy))) == found
