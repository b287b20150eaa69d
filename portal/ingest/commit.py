"""What waits together is committed together: calls wait in the event loop, and one thread stores."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from django.conf import settings

from portal.ingest.senders import TurnedAway
from portal.ingest.writer import Came, Store, Waiting, Writer

WATCH_S = 0.1
BUSY_AFTER_S = 5
"""When to retry after the database was slow; senders add a random time."""

SLOW = "The database does not answer in time. Please try again later."

log = logging.getLogger(__name__)


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
            if self.writer.busy_s > settings.INGEST_PATIENCE_S:
                self.writer.drop_waiting()
                log.error("the database does not answer in time: %d calls are asked to retry", len(self._pending))
                self._resolve([(waiting, slow()) for waiting in self._pending])


def slow() -> TurnedAway:
    """The answer while the database does not answer in time."""
    return TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, SLOW, {"Retry-After": str(BUSY_AFTER_S)})
