"""Group commit: one thread stores together what waits, and informs each sender after the commit."""

import asyncio
import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from typing import Any

from django.conf import settings
from django.db import close_old_connections, connection

from portal.asgi_bodies import NoRoom
from portal.ingest.senders import TurnedAway
from portal.troubles import trouble

log = logging.getLogger(__name__)

GROUP_RECORDS = 100
"""Records in one transaction: it takes some tens of milliseconds, and the records behind it wait as long."""

GROUP_SHARE = 0.4
"""If a transaction takes longer than this share of the ingest's time limit, the next ones contain fewer records."""

WAITING_RECORDS_MAX = 20_000
"""Size of the queue: all nodes of LUMI-G at once, several times."""

Came = list[Any] | Exception
"""The outcome of each record; or that the database was unreachable, or an error of the portal."""

Store = Callable[[Sequence[Any], float | None], list[Any]]
"""Stores records in one transaction whose statements take no longer than so many seconds; the outcome of each."""

WATCH_S = 0.1
BUSY_AFTER_S = 5
"""When to retry after the database was slow; senders add a random time."""

SLOW = "The database does not answer in time. Please try again later."


@dataclass(frozen=True, eq=False)
class Waiting:
    """Records of one call, and the outcome of the first of them so far."""

    items: Sequence[Any]
    results: list[Any] = field(default_factory=list)

    def next_items(self, number: int) -> Sequence[Any]:
        return self.items[len(self.results) : len(self.results) + number]


class Writer:
    """The only one of its process that stores what arrives at some door, over a separate connection.

    `tell` is called in its thread with the outcome of everything that was stored together.
    """

    def __init__(self, tell: Callable[[list[tuple[Waiting, Came]]], None], store: Store, thread: str) -> None:
        self._tell, self._store, self._name = tell, store, thread
        self._queue: deque[Waiting] = deque()
        self._there = threading.Condition()
        self._thread: threading.Thread | None = None
        self._is_ending = False
        self._records = 0
        self._times_dropped = 0
        self._together = GROUP_RECORDS
        self._busy_since_s: float | None = None

    @property
    def fill(self) -> float:
        """The used share of the queue, from 0 to 1."""
        return self._records / WAITING_RECORDS_MAX

    @property
    def waiting_records(self) -> int:
        """The number of waiting records."""
        return self._records

    @property
    def busy_s(self) -> float:
        """How long it has been working on the same transaction."""
        since_s = self._busy_since_s
        return 0.0 if since_s is None else time.monotonic() - since_s

    def put(self, waiting: Waiting) -> None:
        """Accept records for storing. Raises NoRoom."""
        with self._there:
            if self.fill >= 1:
                raise NoRoom
            self._records += len(waiting.items)
            self._queue.append(waiting)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name=self._name, daemon=True)
                self._thread.start()
            self._there.notify()

    def drop_waiting(self) -> None:
        """Drop what waits and has not begun; the current transaction finishes."""
        with self._there:
            self._queue.clear()
            self._records = 0
            self._times_dropped += 1

    def end(self, within_s: float) -> None:
        """Store what waits, then stop."""
        with self._there:
            self._is_ending = True
            self._there.notify()
        if self._thread is not None:
            self._thread.join(within_s)

    def _run(self) -> None:
        while group := self._next_group():
            times_dropped = self._times_dropped
            told = self._stored(group)
            self._follow_pace(time.monotonic() - (self._busy_since_s or 0.0))
            self._tell([(waiting, came) for waiting, came in told if came is not None])
            with self._there:
                # The rest of a long call waits behind the others, unless all senders have been asked to retry.
                if times_dropped == self._times_dropped:
                    self._queue.extend(waiting for waiting, came in told if came is None)
                self._busy_since_s = None
        connection.close()

    def _next_group(self) -> list[Waiting]:
        """The waiting records of one transaction; none once the writer is to end."""
        with self._there:
            while not self._queue and not self._is_ending:
                self._there.wait()
            group: list[Waiting] = []
            records = 0
            while self._queue and (not group or records + self._size(self._queue[0]) <= self._together):
                group.append(self._queue.popleft())
                records += self._size(group[-1])
            self._records -= records
            self._busy_since_s = time.monotonic() if group else None
            return group

    def _size(self, waiting: Waiting) -> int:
        return len(waiting.next_items(self._together))

    def _follow_pace(self, took_s: float) -> None:
        goal_s = settings.INGEST_PATIENCE_S * GROUP_SHARE
        if took_s > goal_s:
            self._together = max(1, self._together // 2)
        elif took_s < goal_s / 2:
            self._together = min(GROUP_RECORDS, self._together * 2)

    def _stored(self, group: list[Waiting]) -> list[tuple[Waiting, Came | None]]:
        """Give each call the outcome of its own records, None while some wait; an unexpected error affects one call
        only."""
        parts = [waiting.next_items(self._together) for waiting in group]
        try:
            results = iter(self._store([item for part in parts for item in part], settings.INGEST_PATIENCE_S))
        except Exception as error:
            if trouble(error) is not None:
                return [(waiting, error) for waiting in group]
            log.exception("%d calls could not be stored", len(group))
            if len(group) == 1:
                return [(group[0], error)]
            return [came for waiting in group for came in self._stored([waiting])]
        finally:
            # As at the end of a request: a broken or old connection is not used again.
            close_old_connections()
        for waiting, part in zip(group, parts, strict=True):
            waiting.results.extend(islice(results, len(part)))
        return [(each, each.results if len(each.results) == len(each.items) else None) for each in group]


class GroupCommit:
    """One for each kind of door of a process."""

    def __init__(self, store: Store, thread: str) -> None:
        self.writer = Writer(self._tell, store, thread)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pending: dict[Waiting, asyncio.Future[Came]] = {}
        self._watch: asyncio.Task[None] | None = None

    async def stored(self, items: Sequence[Any]) -> list[Any]:
        """The outcome of each of these once they are committed. Raises NoRoom, OperationalError, TurnedAway."""
        if self.writer.busy_s > settings.INGEST_PATIENCE_S:
            raise slow()
        waiting = Waiting(items)
        self._loop = asyncio.get_running_loop()
        came = self._pending[waiting] = self._loop.create_future()
        try:
            self.writer.put(waiting)
            if self._watch is None or self._watch.done():
                self._watch = self._loop.create_task(self._watch_writer())
            result: Came = await came
        finally:
            self._pending.pop(waiting, None)
        if isinstance(result, Exception):
            raise result
        return result

    def _tell(self, came: list[tuple[Waiting, Came]]) -> None:
        """In the writer's thread: one call to the event loop for everything that was committed together."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._resolve, came)

    def _resolve(self, came: list[tuple[Waiting, Came]]) -> None:
        for waiting, result in came:
            future = self._pending.get(waiting)
            if future is not None and not future.done():
                future.set_result(result)

    async def _watch_writer(self) -> None:
        """While calls wait: when the database does not answer in time, all of them are asked to retry."""
        while self._pending:
            await asyncio.sleep(WATCH_S)
            if self._pending and self.writer.busy_s > settings.INGEST_PATIENCE_S:
                self.writer.drop_waiting()
                log.error("the database does not answer in time; calls that are asked to retry: %d", len(self._pending))
                self._resolve([(waiting, slow()) for waiting in self._pending])


def slow() -> TurnedAway:
    """The answer while the database does not answer in time."""
    return TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, SLOW, {"Retry-After": str(BUSY_AFTER_S)})
