"""Whether an ingest-only process can work, for health checks.

The database is checked in a separate thread and over a separate connection: a check that hangs delays no sender, and is
not delayed by any.
"""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import connection
from django.utils import timezone

from portal.ingest.writer import Writer
from portal.system.readiness import Part, parts
from portal.troubles import Trouble

ANSWER_S = 1.5
"""A check waits no longer for the database; most clients give up after some seconds."""


class Readiness:
    """One for each process; `writer` is the one that stores what arrives there."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._thread = ThreadPoolExecutor(1, "ingest-readiness")
        self._asked: asyncio.Future[list[Part]] | None = None

    async def parts(self) -> list[Part]:
        """Every component by its name. Checks that arrive together share one query."""
        if self._writer.busy_s > settings.INGEST_PATIENCE_S:
            return [Part("database", Trouble.BUSY.status)]
        if self._asked is None or self._asked.done():
            self._asked = asyncio.get_running_loop().run_in_executor(self._thread, _asked)
        try:
            return await asyncio.wait_for(asyncio.shield(self._asked), ANSWER_S)
        except TimeoutError:
            return [Part("database", Trouble.UNREACHABLE.status)]


def _asked() -> list[Part]:
    try:
        return parts(timezone.now())
    finally:
        # Each check connects again, because an earlier connection shows nothing about the database now.
        connection.close()
