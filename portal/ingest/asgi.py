"""The ingest as a separate ASGI application: it shares neither threads nor connections with the pages.

The event loop reads heads and bodies, so an incomplete request blocks nobody. Only two threads use the database: one
looks up tokens, one stores (`portal.ingest.writer`).
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.db import close_old_connections, transaction
from django.utils import timezone

from collector.wire import NODE_SUMMARY, RAW_SAMPLES
from jobs.processes.services import seen
from metrics.selectors import token_digest
from portal.asgi_bodies import Bodies, BodyPastLimit, Gone, NoRoom, TooSlow, discard
from portal.ingest.door import (
    SCHEMAS,
    Answer,
    Call,
    come_again,
    count,
    log_turned_away,
    only_post,
    problem,
    read,
    refusal,
    said,
    said_bytes,
)
from portal.ingest.door import turn_raw_away as refuse_raw
from portal.ingest.nudges import nudges
from portal.ingest.senders import Sender, TurnedAway, bearer, sender_of, unknown_name
from portal.ingest.services import Checked, Result, limit_statements
from portal.ingest.shedding import Load, raw_load
from portal.ingest.tallies import waiting as counted
from portal.ingest.writer import Came, Waiting, Writer
from portal.logs import during_request
from portal.middleware.request_id import HEADER, given

log = logging.getLogger(__name__)

SENDER_KEPT_S = 3.0
"""How long the lookup of a token is cached; a revoked token is rejected after this time."""

SENDERS_MAX, LOOK_UPS_MAX = 20_000, 4096
"""A token for each node of several clusters, also if all of them send at once."""

LOAD_KEPT_S = 1.0
INLINE_BYTES = 64 * 2**10
"""Smaller bodies are decoded directly, because that takes less time than handing them to a thread."""

WATCH_S = 0.1
COUNTED_EVERY_S = 5.0
"""A process that is killed loses the counts that it has not written yet."""

BUSY_AFTER_S = 5
"""When to retry after the database was slow; senders add a random time."""

RAW_FILL_MAX, INTERIM_FILL_MAX = 0.25, 0.5
"""How full the queue may be for what is rejected first: raw samples, then summaries that a later one will repeat."""

SLOW = "The database does not answer in time. Please try again later."
FULL = "Too many records are waiting to be stored. Please try again later."


class Ingest:
    """One for each process."""

    def __init__(self) -> None:
        self.writer = Writer(self._tell)
        self._bodies = Bodies()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._look_up = ThreadPoolExecutor(1, "ingest-look-up")
        # Only one at a time; otherwise several large bodies would block the event loop.
        self._read = ThreadPoolExecutor(1, "ingest-read")
        self._senders: dict[str, tuple[Sender, float]] = {}
        self._asked: dict[str, asyncio.Future[Sender]] = {}
        self._load: tuple[Load | None, float] = (None, 0.0)
        self._pending: dict[Waiting, asyncio.Future[Came]] = {}
        self._watch: asyncio.Task[None] | None = None

    async def __call__(self, scope: dict[str, Any], receive: Callable[..., Any], send: Callable[..., Any]) -> None:
        headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
        with during_request(given(headers)) as request_id:
            answer = await self._answered(scope, headers, receive)
        if answer is None:
            return
        if answer.members.get("accepted") and nudges.is_due:
            asyncio.get_running_loop().run_in_executor(None, nudges.arrived)
        counted.answered(SCHEMAS[scope["path"]], int(answer.status))
        await _send(answer, request_id, send)

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
        await loop.run_in_executor(self._look_up, _write_count, kind, self.writer.waiting_records)

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
        sender = await self._sender(secret)
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

    async def _sender(self, secret: str | None) -> Sender:
        """The owner of this secret; looked up once for all calls that arrive together."""
        key = token_digest(secret) if secret is not None else ""
        known = self._senders.get(key)
        if known is not None and known[1] > time.monotonic():
            return known[0]
        if key not in self._asked:
            if len(self._asked) >= LOOK_UPS_MAX:
                raise NoRoom
            asked = asyncio.ensure_future(self._ask(sender_of, secret, timezone.now()))
            asked.add_done_callback(lambda done: self._keep(key, done))
            self._asked[key] = asked
        sender: Sender = await _in_time(self._asked[key])
        return sender

    def _keep(self, key: str, asked: asyncio.Future[Sender]) -> None:
        self._asked.pop(key, None)
        if len(self._senders) >= SENDERS_MAX:
            self._senders.clear()
        if asked.cancelled() or asked.exception() is not None:
            self._senders.pop(key, None)
        else:
            self._senders[key] = (asked.result(), time.monotonic() + SENDER_KEPT_S)

    async def _raw_load(self) -> Load | None:
        """The reason why raw samples are rejected: the queue, or the state of the database, read once a second."""
        if self.fill >= RAW_FILL_MAX:
            return Load("many records are waiting to be stored", BUSY_AFTER_S)
        if self._load[1] <= time.monotonic():
            found = await _in_time(asyncio.ensure_future(self._ask(raw_load, timezone.now())))
            self._load = (found, time.monotonic() + LOAD_KEPT_S)
        return self._load[0]

    async def _ask(self, question: Callable[..., Any], *about: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._look_up, _asked, question, *about)

    async def _store(self, checked: Checked) -> list[Result]:
        """The outcome of the valid records once they are committed. Raises NoRoom, OperationalError, TurnedAway."""
        if not checked.sound:
            return []
        if self.fill >= INTERIM_FILL_MAX and _is_repeated_later(checked):
            raise NoRoom
        if self.writer.busy_s > settings.INGEST_PATIENCE_S:
            raise _slow()
        waiting = Waiting(checked.sound)
        self._loop = asyncio.get_running_loop()
        came = self._pending[waiting] = self._loop.create_future()
        try:
            self.writer.put(waiting)
            if self._watch is None or self._watch.done():
                self._watch = self._loop.create_task(self._watch_writer())
            result: list[Result] | Exception = await came
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
                self._resolve([(waiting, _slow()) for waiting in self._pending])


def _write_count(kind: str, waiting_records: int) -> None:
    try:
        counted.write()
        seen(kind, waiting_records)
    except Exception:
        log.exception("the counts could not be written")
    finally:
        close_old_connections()


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
        raise _slow() from None


def _fault() -> Answer:
    log.exception("a call of the ingest failed")
    return problem(HTTPStatus.INTERNAL_SERVER_ERROR, "This call failed because of an error in the portal.")


def _slow() -> TurnedAway:
    return TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, SLOW, {"Retry-After": str(BUSY_AFTER_S)})


def _is_repeated_later(checked: Checked) -> bool:
    """Whether these are summaries of runs that are still running, whose final summaries will repeat everything."""
    return all(item.record.schema == NODE_SUMMARY and not item.record.final for item in checked.sound)


async def _send(answer: Answer, request_id: str, send: Callable[..., Any]) -> None:
    content = answer.content
    headers = {"Content-Type": answer.content_type, "Content-Length": str(len(content)), HEADER: request_id}
    headers |= answer.headers
    encoded = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
    await send({"type": "http.response.start", "status": int(answer.status), "headers": encoded})
    await send({"type": "http.response.body", "body": content})
