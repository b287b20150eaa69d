"""What a call of a script is answered when it cannot be stored, in the words of its protocol."""

from __future__ import annotations

import logging
from http import HTTPStatus

from jobs.experiments.rules import NotAccepted
from portal.asgi_bodies import BodyPastLimit, NoRoom, TooSlow
from portal.ingest.body import BodyTooLarge, MalformedBody
from portal.ingest.commit import BUSY_AFTER_S
from portal.ingest.door import RETRY_AFTER_S
from portal.ingest.senders import TurnedAway
from portal.logs import type_of
from portal.tracking.call import Answer, Door
from portal.troubles import trouble

FULL = "Too much is waiting to be stored. Please try again later."
FAULT = "This call failed because of an error in the portal."
SLOW_BODY = "The body did not arrive in time."

log = logging.getLogger(__name__)


def answer_to(door: Door, error: Exception) -> Answer:
    """The answer to a call that failed so; what nobody expects is logged."""
    if isinstance(error, NotAccepted):
        return door.declined(error)
    if isinstance(error, TurnedAway):
        return door.problem(error.status, error.why, error.headers)
    if isinstance(error, BodyPastLimit | BodyTooLarge):
        return door.problem(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error), {})
    if isinstance(error, MalformedBody):
        return door.problem(HTTPStatus.BAD_REQUEST, str(error), {})
    if isinstance(error, TooSlow):
        return door.problem(HTTPStatus.REQUEST_TIMEOUT, SLOW_BODY, {})
    if isinstance(error, NoRoom):
        return door.problem(HTTPStatus.SERVICE_UNAVAILABLE, FULL, {"Retry-After": str(BUSY_AFTER_S)})
    found = trouble(error)
    if found is None:
        log.error("a call of a script failed", exc_info=error)
        return door.problem(HTTPStatus.INTERNAL_SERVER_ERROR, FAULT, {})
    log.error("%s: %s", found.status, type_of(error))
    return door.problem(HTTPStatus.SERVICE_UNAVAILABLE, found.sentence, {"Retry-After": str(RETRY_AFTER_S)})
