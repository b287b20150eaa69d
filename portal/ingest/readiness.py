"""Whether a process of the ingest alone can do its work, for probes.

The database is asked in a thread and over a connection of its own: a probe that hangs holds up no sender, and is held
up by none.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor

from django.conf import settings
from django.db import connection
from django.utils import timezone

from portal.ingest.writer import Writer
from portal.system.readiness import Part, parts
from portal.troubles import Trouble

ANSWER_S = 1.5
"""A probe waits no longer for the database; most give up after some seconds themselves."""


class Readiness:
    """One for each process; `writer` is the one that stores what arrives there."""

    def __init__(self, writer: Writer) -> None:
        self._writer = writer
        self._thread = ThreadPoolExecutor(1, "ingest-readiness")
        self._asked: asyncio.Future[list[Part]] | None = None

    async def parts(self) -> list[Part]:
        """Every part by its name. Probes that come together ask once."""
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
        # Each probe connects anew, as what broke since the last one says nothing of the database now.
        connection.close()
