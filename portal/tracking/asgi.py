"""Calls of scripts that log points, in the event loop: bodies wait there, one thread stores, many calls at a time.

Under pressure a call is thinned, not refused: a script that is asked to wait stops training. Only while the database
does not answer is it asked to try again.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.utils import timezone

from jobs.experiments.services.points import LoggedCall
from jobs.models import User
from portal.asgi_bodies import Bodies, Gone, discard
from portal.ingest.asgi import INLINE_BYTES, headers_of, send_answer
from portal.ingest.look_ups import LookUps
from portal.ingest.senders import TurnedAway, bearer
from portal.ingest.tallies import waiting as counted
from portal.ingest.writer import GroupCommit
from portal.logs import during_request
from portal.middleware.request_id import given
from portal.mlflow.logged import LOGGED_CALLS
from portal.tracking.call import (
    BODY_BYTES_MAX,
    Answer,
    Door,
    Read,
    Received,
    answer_to,
    lighter,
    logging_person,
    unpacked,
)
from portal.tracking.own_points import OWN_POINTS
from portal.tracking.services import store_calls
from portal.tracking.uploads import Uploads

THIN_ABOVE = 0.25
"""How full the queue may be before the points of a call are thinned."""

DOORS: Sequence[Door] = (OWN_POINTS, LOGGED_CALLS)


def door_of(scope: Mapping[str, Any]) -> tuple[Door, dict[str, str | None]] | None:
    """The door that a request comes to, with the named parts of its address; None where it is for the pages."""
    if scope["method"] != "POST":
        return None
    for door in DOORS:
        if match := door.address.fullmatch(scope["path"]):
            return door, match.groupdict()
    return None


class Tracking:
    """One for each process."""

    def __init__(self) -> None:
        self.commit = GroupCommit(store_calls, "tracking-writer")
        self._holders: LookUps[User] = LookUps(logging_person, "tracking-look-up")
        self._bodies = Bodies()
        # Only one at a time; otherwise several large bodies would block the event loop.
        self._reader = ThreadPoolExecutor(1, "tracking-read")
        self._uploads = Uploads()

    async def upload(
        self, address: str, scope: Mapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        """Serve the upload of a file."""
        headers = headers_of(scope)
        with during_request(given(headers)) as request_id:
            answer = await self._uploads.answered(headers, address, receive)
        if answer is not None:
            await send_answer(answer, request_id, send)

    async def __call__(
        self,
        door: Door,
        named: Mapping[str, str | None],
        scope: Mapping[str, Any],
        receive: Callable[..., Any],
        send: Callable[..., Any],
    ) -> None:
        """Serve a call that logs."""
        headers = headers_of(scope)
        with during_request(given(headers)) as request_id:
            answer = await self._answered(door, named, headers, receive)
        if answer is not None:
            counted.logged(int(answer.status))
            await send_answer(answer, request_id, send)

    async def _answered(
        self, door: Door, named: Mapping[str, str | None], headers: dict[str, str], receive: Callable[..., Any]
    ) -> Answer | None:
        """The answer to a call, whatever happens; None if the client has disconnected."""
        try:
            return await self._answer(door, named, headers, receive)
        except Gone:
            return None
        except Exception as error:
            return answer_to(door, error)

    async def _answer(
        self, door: Door, named: Mapping[str, str | None], headers: dict[str, str], receive: Callable[..., Any]
    ) -> Answer:
        try:
            user = await self._holders.holder(bearer(headers.get("authorization", "")))
        except TurnedAway:
            await discard(receive)
            raise
        with self._bodies.one() as body:
            arrived = unpacked(await body.whole(receive, BODY_BYTES_MAX), headers)
            received = Received(named, headers, arrived, user, timezone.now())
            read = await self._read(door, received)
            if read.call is not None:
                await self._store(read.call)
            return door.said(read)

    async def _read(self, door: Door, received: Received) -> Read:
        if len(received.body) <= INLINE_BYTES:
            return door.read(received)
        return await asyncio.get_running_loop().run_in_executor(self._reader, door.read, received)

    async def _store(self, call: LoggedCall) -> None:
        """Store this call. Raises NotAccepted, OperationalError."""
        if max(self.commit.writer.fill, self._bodies.fill) >= THIN_ABOVE:
            call = lighter(call)
        (why,) = await self.commit.stored([call])
        if isinstance(why, Exception):
            raise why
        counted.points(len(call.points), call.thinned)
