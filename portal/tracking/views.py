"""The same calls for servers that run the portal as plain WSGI: each call is stored in its own transaction."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from portal.ingest.body import BodyTooLarge
from portal.ingest.senders import bearer
from portal.tracking.call import BODY_BYTES_MAX, Answer, Door, Received, answer_to, logging_person, unpacked
from portal.tracking.services import store_calls


def take(request: HttpRequest, door: Door, **named: str | None) -> HttpResponse:
    """One call of a script, stored when it is answered; only its token says who calls."""
    try:
        answer = _answer(request, door, named)
    except Exception as error:
        answer = answer_to(door, error)
    return HttpResponse(answer.content, answer.content_type, answer.status, headers=answer.headers)


def _answer(request: HttpRequest, door: Door, named: dict[str, str | None]) -> Answer:
    user = logging_person(bearer(request.headers.get("Authorization", "")), timezone.now())
    headers = {name.lower(): value for name, value in request.headers.items()}
    body = request.read(BODY_BYTES_MAX + 1)
    if len(body) > BODY_BYTES_MAX:
        raise BodyTooLarge(f"The body exceeds {BODY_BYTES_MAX} bytes.")
    read = door.read(Received(named, headers, unpacked(body, headers), user, timezone.now()))
    if read.call is not None:
        (why,) = store_calls([read.call], settings.INGEST_PATIENCE_S)
        if why is not None:
            raise why
    return door.said(read)
