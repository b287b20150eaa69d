"""The ASGI entry point: the ingest in the event loop, everything else in some threads; neither waits for the other.

`ingest_application` contains only the ingest, for a process that only receives payloads.
"""

from __future__ import annotations

import asyncio
import ctypes
import gc
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any, cast

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
pages = get_wsgi_application()

from a2wsgi import WSGIMiddleware  # noqa: E402
from django.conf import settings  # noqa: E402
from django.db.backends.signals import connection_created  # noqa: E402
from django.urls import get_resolver  # noqa: E402

from jobs.models import Process  # noqa: E402
from portal.asgi_bodies import Bodies, Body, BodyPastLimit, Gone, NoRoom, TooSlow  # noqa: E402
from portal.ingest.asgi import Ingest  # noqa: E402
from portal.ingest.door import SCHEMAS  # noqa: E402
from portal.ingest.readiness import Readiness  # noqa: E402
from portal.system.readiness import OK, status_of  # noqa: E402
from portal.tracking.asgi import Tracking, door_of  # noqa: E402
from portal.tracking.uploads import upload_of  # noqa: E402

PAGE_BODY_BYTES_MAX = 4 * 2**20
"""More than Django itself accepts (`DATA_UPLOAD_MAX_MEMORY_SIZE`), so that Django can answer with its own page."""

LIMITS = "SET lock_timeout = '2s'; SET statement_timeout = '30s'"
"""A page that needs a locked table fails soon, instead of blocking its thread until the table is free."""

REFUSED = {
    TooSlow: HTTPStatus.REQUEST_TIMEOUT,
    BodyPastLimit: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    NoRoom: HTTPStatus.SERVICE_UNAVAILABLE,
}

PR_SET_PDEATHSIG = 1  # linux/prctl.h
END_WITHIN_S, COUNT_WITHIN_S = 20.0, 3.0

PLAIN, JSON = b"text/plain", b"application/json"
ELSEWHERE = {"/metrics": "The page server has these numbers, at the same path."}
"""The answer to people who look for metrics at an ingest-only server."""

Scope = dict[str, Any]
Channel = Callable[..., Any]

ingest, tracking, bodies = Ingest(), Tracking(), Bodies()
readiness = Readiness(ingest.writer)
# The two write the types of the same calls differently.
in_threads: Any = WSGIMiddleware(cast(Any, pages), workers=settings.PAGE_THREADS)


def limit(connection: Any, **_: object) -> None:
    """Limit what a page waits for in PostgreSQL; the ingest sets its own limits in each transaction."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(LIMITS)


connection_created.connect(limit)


async def application(scope: Scope, receive: Channel, send: Channel) -> None:
    """Serve one request, or start and stop with the server."""
    if scope["type"] == "lifespan":
        _load_pages()
        await _live(Process.Kind.PORTAL, receive, send)
    elif scope["path"] in SCHEMAS:
        await ingest(scope, receive, send)
    elif found := door_of(scope):
        await tracking(*found, scope, receive, send)
    elif address := upload_of(scope):
        await tracking.upload(address, scope, receive, send)
    else:
        await _page(scope, receive, send)


def _load_pages() -> None:
    """Load every page before the first request. What exists then stays: looking through it for garbage again and again
    added 130 ms to one answer in ten of those that read thousands of rows (`bench/portal.py`)."""
    get_resolver().url_patterns  # noqa: B018  (reading it loads them)
    gc.collect()
    gc.freeze()


async def ingest_application(scope: Scope, receive: Channel, send: Channel) -> None:
    """Serve one call of the ingest; besides that only the health checks of this process."""
    if scope["type"] == "lifespan":
        await _live(Process.Kind.INGEST, receive, send)
    elif scope["path"] in SCHEMAS:
        await ingest(scope, receive, send)
    elif scope["path"] == "/healthz":
        await _say(HTTPStatus.OK, send)
    elif scope["path"] == "/readyz":
        found = await readiness.parts()
        status, states = status_of(found), {part.name: part.state for part in found}
        code = HTTPStatus.OK if status == OK else HTTPStatus.SERVICE_UNAVAILABLE
        await _say(code, send, json.dumps({"status": status, "parts": states}), JSON)
    else:
        await _say(HTTPStatus.NOT_FOUND, send, ELSEWHERE.get(scope["path"], ""))


async def _live(kind: str, receive: Channel, send: Channel) -> None:
    """Store what waits and write the counts before the end; and end with the process that started this one, whatever
    killed it."""
    await receive()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    await send({"type": "lifespan.startup.complete"})
    counting = asyncio.create_task(ingest.keep_count(kind))
    await receive()
    counting.cancel()
    await asyncio.to_thread(ingest.writer.end, END_WITHIN_S)
    await asyncio.to_thread(tracking.commit.writer.end, END_WITHIN_S)
    with suppress(TimeoutError):
        await asyncio.wait_for(ingest.write_count(kind), COUNT_WITHIN_S)
    await send({"type": "lifespan.shutdown.complete"})


async def _page(scope: Scope, receive: Channel, send: Channel) -> None:
    """A page of the portal: no thread waits for a body that is still arriving."""
    with bodies.one() as body:
        try:
            await _whole_page(body, scope, receive, send)
        except Gone:
            return
        except tuple(REFUSED) as error:
            await _say(REFUSED[type(error)], send)


async def _whole_page(body: Body, scope: Scope, receive: Channel, send: Channel) -> None:
    arrived_bytes = await body.whole(receive, PAGE_BODY_BYTES_MAX)
    arrived = [{"type": "http.request", "body": arrived_bytes, "more_body": False}]

    async def given() -> dict[str, Any]:
        return arrived.pop() if arrived else await receive()

    await in_threads(scope, given, send)


async def _say(status: HTTPStatus, send: Channel, said: str = "", kind: bytes = PLAIN) -> None:
    body = f"{said or status.phrase}\n".encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if status != HTTPStatus.OK:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
