"""The ingest alone, for a process that only receives payloads: no page, no report and no step is imported."""

import asyncio
import ctypes
import json
import os
import signal
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import django
from django.apps import apps
from django.db.backends.signals import connection_created

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
if not apps.ready:
    django.setup()

from jobs.models import Process
from portal.ingest.asgi import Ingest
from portal.ingest.door import SCHEMAS
from portal.ingest.readiness import Readiness
from portal.ingest.writer import Writer
from portal.system.readiness import OK, status_of

Scope = dict[str, Any]
Channel = Callable[..., Any]

LIMITS = "SET lock_timeout = '2s'; SET statement_timeout = '30s'"
"""A page that needs a locked table fails soon, instead of blocking its thread until the table is free."""

PR_SET_PDEATHSIG = 1  # linux/prctl.h
END_WITHIN_S, COUNT_WITHIN_S = 20.0, 3.0

PLAIN, JSON = b"text/plain", b"application/json"
ELSEWHERE = {"/metrics": "The page server has these numbers, at the same path."}
"""The answer to people who look for metrics at an ingest-only server."""

ingest = Ingest()
readiness = Readiness(ingest.writer)


def limit(connection: Any, **_: object) -> None:
    """Limit what is waited for in PostgreSQL; the ingest sets its own limits in each transaction."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute(LIMITS)


connection_created.connect(limit)


async def application(scope: Scope, receive: Channel, send: Channel) -> None:
    """Serve one call of the ingest; besides that only the health checks of this process."""
    if scope["type"] == "lifespan":
        await live(Process.Kind.INGEST, (ingest.writer,), receive, send)
    elif scope["path"] in SCHEMAS:
        await ingest(scope, receive, send)
    elif scope["path"] == "/healthz":
        await say(HTTPStatus.OK, send)
    elif scope["path"] == "/readyz":
        found = await readiness.parts()
        status, states = status_of(found), {part.name: part.state for part in found}
        code = HTTPStatus.OK if status == OK else HTTPStatus.SERVICE_UNAVAILABLE
        await say(code, send, json.dumps({"status": status, "parts": states}), JSON)
    else:
        await say(HTTPStatus.NOT_FOUND, send, ELSEWHERE.get(scope["path"], ""))


async def live(kind: str, writers: tuple[Writer, ...], receive: Channel, send: Channel) -> None:
    """Store what waits and write the counts before the end; and end with the process that started this one, whatever
    killed it."""
    await receive()
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    await send({"type": "lifespan.startup.complete"})
    counting = asyncio.create_task(ingest.keep_count(kind))
    await receive()
    counting.cancel()
    for writer in writers:
        await asyncio.to_thread(writer.end, END_WITHIN_S)
    with suppress(TimeoutError):
        await asyncio.wait_for(ingest.write_count(kind), COUNT_WITHIN_S)
    await send({"type": "lifespan.shutdown.complete"})


async def say(status: HTTPStatus, send: Channel, said: str = "", kind: bytes = PLAIN) -> None:
    """A short answer without a page."""
    body = f"{said or status.phrase}\n".encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if status != HTTPStatus.OK:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": int(status), "headers": headers})
    await send({"type": "http.response.body", "body": body})
