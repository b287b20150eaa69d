"""The ASGI entry point: the ingest in the event loop, everything else in some threads; neither waits for the other.

`portal/ingest/server.py` is the ingest alone.
"""

import gc
import os
from http import HTTPStatus
from typing import Any, cast

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
pages = get_wsgi_application()

from a2wsgi import WSGIMiddleware  # noqa: E402
from django.conf import settings  # noqa: E402
from django.urls import get_resolver  # noqa: E402

from jobs.models import Process  # noqa: E402
from portal.asgi_bodies import Bodies, Body, BodyPastLimit, Gone, NoRoom, TooSlow  # noqa: E402
from portal.ingest.door import SCHEMAS  # noqa: E402
from portal.ingest.server import Channel, Scope, ingest, live, say  # noqa: E402
from portal.tracking.asgi import Tracking, door_of  # noqa: E402
from portal.tracking.uploads import upload_of  # noqa: E402

PAGE_BODY_BYTES_MAX = 4 * 2**20
"""More than Django itself accepts (`DATA_UPLOAD_MAX_MEMORY_SIZE`), so that Django can answer with its own page."""

REFUSED = {
    TooSlow: HTTPStatus.REQUEST_TIMEOUT,
    BodyPastLimit: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    NoRoom: HTTPStatus.SERVICE_UNAVAILABLE,
}

tracking, bodies = Tracking(), Bodies()
# The two write the types of the same calls differently.
in_threads: Any = WSGIMiddleware(cast(Any, pages), workers=settings.PAGE_THREADS)


async def application(scope: Scope, receive: Channel, send: Channel) -> None:
    """Serve one request, or start and stop with the server."""
    if scope["type"] == "lifespan":
        _load_pages()
        await live(Process.Kind.PORTAL, (ingest.writer, tracking.commit.writer), receive, send)
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


async def _page(scope: Scope, receive: Channel, send: Channel) -> None:
    """A page of the portal: no thread waits for a body that is still arriving."""
    with bodies.one() as body:
        try:
            await _whole_page(body, scope, receive, send)
        except Gone:
            return
        except tuple(REFUSED) as error:
            await say(REFUSED[type(error)], send)


async def _whole_page(body: Body, scope: Scope, receive: Channel, send: Channel) -> None:
    arrived_bytes = await body.whole(receive, PAGE_BODY_BYTES_MAX)
    arrived = [{"type": "http.request", "body": arrived_bytes, "more_body": False}]

    async def given() -> dict[str, Any]:
        return arrived.pop() if arrived else await receive()

    await in_threads(scope, given, send)
