"""Files that MLflow's clients upload, in the event loop: what cannot be kept is dropped as it arrives, however large.

A client that is refused raises in the middle of a training, so every upload to an own run is answered as done.
"""

import asyncio
import logging
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

from django.db import close_old_connections
from django.utils import timezone

from jobs.experiments.limits import TEXT_BYTES_MAX
from jobs.models import User
from portal.asgi_bodies import Gone, TooSlow, discard
from portal.ingest.senders import TurnedAway
from portal.mlflow.addresses import UPLOADED
from portal.mlflow.answers import problem, refusal
from portal.mlflow.artifacts import keep
from portal.mlflow.call import Call, holder_of
from portal.tracking.call import FAULT, SLOW_BODY, Answer

QUIET_S = 30.0
"""An upload is given up when nothing of it arrives for so long; as a whole it may take any time."""

log = logging.getLogger(__name__)


def upload_of(scope: Mapping[str, Any]) -> str | None:
    """The address of the file that a request uploads; None for any other request."""
    match = UPLOADED.fullmatch(scope["path"]) if scope["method"] == "PUT" else None
    return match["address"] if match else None


class Uploads:
    """One for each process; one thread uses the database."""

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, "tracking-uploads")

    async def answered(self, headers: Mapping[str, str], address: str, receive: Callable[..., Any]) -> Answer | None:
        """The answer to an upload, whatever happens; None if the client has disconnected."""
        try:
            return await self._answer(headers, address, receive)
        except Gone:
            return None
        except TooSlow:
            return problem(HTTPStatus.REQUEST_TIMEOUT, SLOW_BODY, {})
        except Exception as error:
            found = refusal(error)
            if found is None:
                log.exception("an upload of a script failed")
            return found or problem(HTTPStatus.INTERNAL_SERVER_ERROR, FAULT, {})

    async def _answer(self, headers: Mapping[str, str], address: str, receive: Callable[..., Any]) -> Answer:
        try:
            user: User = await self._asked(holder_of, headers.get("authorization", ""), timezone.now())
        except TurnedAway:
            await discard(receive)
            raise
        content, size_bytes = await _arrived(receive)
        answer: Answer = await self._asked(keep, Call(user, timezone.now()), address, content, size_bytes)
        return answer

    async def _asked(self, question: Callable[..., Any], *about: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, _in_thread, question, *about)


def _in_thread(question: Callable[..., Any], *about: Any) -> Any:
    try:
        return question(*about)
    finally:
        close_old_connections()


async def _arrived(receive: Callable[..., Any]) -> tuple[bytes | None, int]:
    """The content of a body, None if it is too large to be kept, and its size. Raises Gone, TooSlow."""
    content, size_bytes = b"", 0
    while True:
        try:
            message = await asyncio.wait_for(receive(), QUIET_S)
        except TimeoutError:
            raise TooSlow from None
        if message["type"] == "http.disconnect":
            raise Gone
        part = message.get("body", b"")
        size_bytes += len(part)
        content = content + part if size_bytes <= TEXT_BYTES_MAX else b""
        if not message.get("more_body", False):
            return (content if size_bytes <= TEXT_BYTES_MAX else None), size_bytes
