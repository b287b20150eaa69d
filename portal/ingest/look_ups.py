"""Who a secret belongs to, looked up in the database by one thread, and once for all calls that arrive together."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any, Generic, TypeVar

from django.conf import settings
from django.db import close_old_connections, transaction
from django.utils import timezone

from jobs.tokens.selectors import token_digest
from portal.asgi_bodies import NoRoom
from portal.ingest.services import limit_statements
from portal.ingest.writer import slow

KEPT_S = 3.0
"""How long an answer is kept; a revoked token is rejected after this time."""

KEPT_MAX, LOOK_UPS_MAX = 20_000, 4096
"""A token for each node of several clusters, also if all of them send at once."""

Holder = TypeVar("Holder")


class LookUps(Generic[Holder]):
    """The holders of secrets; `look_up` raises TurnedAway for a secret without one."""

    def __init__(self, look_up: Callable[[str | None, datetime], Holder], thread: str) -> None:
        self._look_up = look_up
        self.thread = ThreadPoolExecutor(1, thread)
        self._known: dict[str, tuple[Holder, float]] = {}
        self._asked: dict[str, asyncio.Future[Holder]] = {}

    async def holder(self, secret: str | None) -> Holder:
        """The owner of this secret. Raises TurnedAway, NoRoom."""
        key = token_digest(secret) if secret is not None else ""
        known = self._known.get(key)
        if known is not None and known[1] > time.monotonic():
            return known[0]
        if key not in self._asked:
            if len(self._asked) >= LOOK_UPS_MAX:
                raise NoRoom
            asked = asyncio.ensure_future(self._ask(self._look_up, secret, timezone.now()))
            asked.add_done_callback(lambda done: self._keep(key, done))
            self._asked[key] = asked
        holder: Holder = await _in_time(self._asked[key])
        return holder

    async def answer(self, question: Callable[..., Any], *about: Any) -> Any:
        """What the database answers to another question. Raises TurnedAway if it takes too long."""
        return await _in_time(asyncio.ensure_future(self._ask(question, *about)))

    def _keep(self, key: str, asked: asyncio.Future[Holder]) -> None:
        self._asked.pop(key, None)
        if len(self._known) >= KEPT_MAX:
            self._known.clear()
        if asked.cancelled() or asked.exception() is not None:
            self._known.pop(key, None)
        else:
            self._known[key] = (asked.result(), time.monotonic() + KEPT_S)

    async def _ask(self, question: Callable[..., Any], *about: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self.thread, _asked, question, *about)


def _asked(question: Callable[..., Any], *about: Any) -> Any:
    try:
        with transaction.atomic():
            limit_statements(settings.INGEST_PATIENCE_S, settings.INGEST_PATIENCE_S)
            return question(*about)
    finally:
        close_old_connections()


async def _in_time(asked: asyncio.Future[Any]) -> Any:
    """The answer of the database, shared by all who wait for it. Raises TurnedAway if it takes too long."""
    try:
        return await asyncio.wait_for(asyncio.shield(asked), settings.INGEST_PATIENCE_S)
    except TimeoutError:
        raise slow() from None
