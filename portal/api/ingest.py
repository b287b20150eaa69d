"""The ingest calls for servers that run the portal as plain WSGI: each call is stored in its own transaction."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from portal.ingest.door import Answer, Call, count, log_turned_away, only_post, read, refusal, said, turn_raw_away
from portal.ingest.nudges import nudges
from portal.ingest.senders import TurnedAway, bearer, sender_of, unknown_name
from portal.ingest.services import store
from portal.ingest.shedding import raw_load
from portal.ingest.tallies import waiting
from wire.payloads import RAW_SAMPLES


@csrf_exempt
def receive(request: HttpRequest, schema: str) -> HttpResponse:
    """One object or a list of one kind of payload; 2xx means committed."""
    try:
        answer = _answer(request, schema)
    except Exception as error:
        refused = refusal(error)
        if refused is None:
            raise
        answer = refused
    if answer.is_work:
        nudges.arrived()
    waiting.answered(schema, int(answer.status))
    waiting.write()
    return HttpResponse(answer.content, answer.content_type, answer.status, headers=answer.headers)


def _answer(request: HttpRequest, schema: str) -> Answer:
    secret = bearer(request.headers.get("Authorization", ""))
    name = unknown_name(secret)
    try:
        sender = sender_of(secret, timezone.now())
        name = sender.name
        only_post(request.method or "")
        count(sender)
        if schema == RAW_SAMPLES:
            turn_raw_away(raw_load(timezone.now()))
        headers = {name.lower(): value for name, value in request.headers.items()}
        call = Call(schema, headers, request.read(settings.INGEST_BODY_BYTES_MAX + 1))
        checked = read(call, sender)
    except TurnedAway as error:
        log_turned_away(name, schema, error)
        raise
    return said(call, sender, checked, store(checked.sound, settings.INGEST_PATIENCE_S))
