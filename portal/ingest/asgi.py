"""The ingest as a separate ASGI application: it shares neither threads nor connections with the pages.

The event loop reads heads and bodies, so an incomplete request blocks nobody. Only two threads use the database: one
looks up tokens (`portal.ingest.look_ups`), one stores (`portal.ingest.writer`).
"""

import asyncio
import logging
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

from jobs.processes.services import seen
from portal.asgi_bodies import Bodies, BodyPastLimit, Gone, NoRoom, TooSlow, discard
from portal.ingest.door import (
    SCHEMAS,
    Answer,
    Call,
    come_again,
    count,
    is_of_running,
    log_turned_away,
    only_post,
    problem,
    read,
    refusal,
    said,
    said_bytes,
)
from portal.ingest.door import turn_raw_away as refuse_raw
from portal.ingest.look_ups import LookUps
from portal.ingest.nudges import nudges
from portal.ingest.senders import Sender, TurnedAway, bearer, sender_of, unknown_name
from portal.ingest.services import Checked, Result, store
from portal.ingest.shedding import Load, raw_load
from portal.ingest.tallies import waiting as counted
from portal.ingest.writer import BUSY_AFTER_S, GroupCommit, Writer
from portal.logs import during_request
from portal.middleware.request_id import HEADER, given
from wire.payloads import RAW_SAMPLES

log = logging.getLogger(__name__)

LOAD_KEPT_S = 1.0
INLINE_BYTES = 64 * 2**10
"""Smaller bodies are decoded directly, because that takes less time than handing them to a thread."""

COUNTED_EVERY_S = 5.0
"""A process that is killed loses the counts that it has not written yet."""

RAW_FILL_MAX, INTERIM_FILL_MAX = 0.25, 0.5
"""How full the queue may be for what is rejected first: raw samples, then summaries that a later one will repeat."""

FULL = "Too many records are waiting to be stored. Please try again later."


class Ingest:
    """One for each process."""

    def __init__(self) -> None:
        self._commit = GroupCommit(store, "ingest-writer")
        self._senders = LookUps(sender_of, "ingest-look-up")
        self._bodies = Bodies()
        # Only one at a time; otherwise several large bodies would block the event loop.
        self._read = ThreadPoolExecutor(1, "ingest-read")
        self._load: tuple[Load | None, float] = (None, 0.0)

    @property
    def writer(self) -> Writer:
        """What stores the records of this door."""
        return self._commit.writer

    async def __call__(self, scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        headers = headers_of(scope)
        with during_request(given(headers)) as request_id:
            answer = await self._answered(scope, headers, receive)
        if answer is None:
            return
        if answer.is_work and nudges.is_due:
            asyncio.get_running_loop().run_in_executor(None, nudges.arrived)
        counted.answered(SCHEMAS[scope["path"]], int(answer.status))
        await send_answer(answer, request_id, send)

    async def _answered(
        self, scope: dict[str, Any], headers: dict[str, str], receive: Callable[..., Any]
    ) -> Answer | None:
        """The answer to a call, whatever happens; None if the client has disconnected."""
        try:
            return await self._answer(scope, headers, receive)
        except Gone:
            return None
        except TooSlow:
            return problem(HTTPStatus.REQUEST_TIMEOUT, "The body did not arrive in time.", {"Connection": "close"})
        except BodyPastLimit as error:
            return problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error), {"Connection": "close"})
        except NoRoom:
            return come_again(FULL, BUSY_AFTER_S)
        except Exception as error:
            return refusal(error) or _fault()

    async def keep_count(self, kind: str) -> None:
        """Write the counts, and that this process is running, at intervals until it is cancelled."""
        while True:
            await asyncio.sleep(COUNTED_EVERY_S)
            await self.write_count(kind)

    async def write_count(self, kind: str) -> None:
        """Do this once, in the thread that looks up tokens."""
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(self._senders.thread, _write_count, kind, self.writer.waiting_records)

    @property
    def fill(self) -> float:
        """The used share of the queue, from 0 to 1."""
        return max(self.writer.fill, self._bodies.fill)

    async def _answer(self, scope: dict[str, Any], headers: dict[str, str], receive: Callable[..., Any]) -> Answer:
        schema = SCHEMAS[scope["path"]]
        secret = bearer(headers.get("authorization", ""))
        try:
            sender = await self._let_in(secret, scope["method"], schema)
        except TurnedAway as error:
            log_turned_away(unknown_name(secret), schema, error)
            await discard(receive)
            raise
        try:
            with self._bodies.one() as body:
                call = Call(schema, headers, await body.whole(receive, settings.INGEST_BODY_BYTES_MAX))
                checked = await self._checked(call, sender)
                return said(call, sender, checked, await self._store(checked))
        except (TurnedAway, BodyPastLimit) as error:
            log_turned_away(sender.name, schema, error)
            raise

    async def _let_in(self, secret: str | None, method: str, schema: str) -> Sender:
        """The sender, if the body is worth reading. Raises TurnedAway."""
        sender = await self._senders.holder(secret)
        only_post(method)
        if sender.user_pk is not None:
            await asyncio.to_thread(count, sender)
        if schema == RAW_SAMPLES:
            refuse_raw(await self._raw_load())
        return sender

    async def _checked(self, call: Call, sender: Sender) -> Checked:
        if said_bytes(call) <= INLINE_BYTES:
            return read(call, sender)
        return await asyncio.get_running_loop().run_in_executor(self._read, read, call, sender)

    async def _raw_load(self) -> Load | None:
        """The reason why raw samples are rejected: the queue, or the state of the database, read once a second."""
        if self.fill >= RAW_FILL_MAX:
            return Load("many records are waiting to be stored", BUSY_AFTER_S)
        if self._load[1] <= time.monotonic():
            found = await self._senders.answer(raw_load, timezone.now())
            self._load = (found, time.monotonic() + LOAD_KEPT_S)
        return self._load[0]

    async def _store(self, checked: Checked) -> list[Result]:
        """The outcome of the valid records once they are committed. Raises NoRoom, OperationalError, TurnedAway."""
        if not checked.sound:
            return []
        if self.fill >= INTERIM_FILL_MAX and all(map(is_of_running, checked.sound)):
            raise NoRoom
        return await self._commit.stored(checked.sound)


def _write_count(kind: str, waiting_records: int) -> None:
    try:
        counted.write()
        seen(kind, waiting_records)
    except Exception:
        log.exception("the counts could not be written")
    finally:
        close_old_connections()


def _fault() -> Answer:
    log.exception("a call of the ingest failed")
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "This call failed because of an error in the portal.")


def headers_of(scope: Mapping[str, Any]) -> dict[str, str]:
    """The headers of a request, by their names in lower case."""
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


async def send_answer(answer: Any, request_id: str, send: Callable[..., Any]) -> None:
    """Send the answer of the ingest, or of a call that logs, with the identifier of its request."""
    content = answer.content
    headers = {"Content-Type": answer.content_type, "Content-Length": str(len(content)), HEADER: request_id}
    headers |= answer.headers
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": int(answer.status), "headers": encoded})
    await send({"type": "http.response.body", "body": content})
