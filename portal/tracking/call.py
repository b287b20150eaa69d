"""One call of a script that logs points, whichever server received it: from its head and body to its answer.

A `Door` is one kind of such calls: the portal's own (`portal.tracking.own_points`), or one of MLflow's. It reads a body
without the database, and puts the outcome into the words of its protocol, also why a call cannot be stored.
"""

import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from http import HTTPStatus

from jobs.experiments.points import thinned_call
from jobs.experiments.rules import NotAccepted
from jobs.experiments.services.points import LoggedCall
from jobs.models import Token, User
from jobs.tokens.models import PERSONAL, PREFIXES
from portal.asgi_bodies import BodyPastLimit, NoRoom, TooSlow
from portal.ingest.body import BodyTooLarge, MalformedBody, gunzip
from portal.ingest.door import RETRY_AFTER_S
from portal.ingest.senders import BEARER, ENDED, NOBODY, TurnedAway
from portal.ingest.writer import BUSY_AFTER_S
from portal.sign_in.personal_tokens import token_and_holder
from portal.troubles import logged_trouble

BODY_BYTES_MAX = 2**20
"""As MLflow's clients expect of their server (facts of the protocol: 1 MB a batch)."""

OTHER_TOKEN = (
    f"This call takes a token that logs experiments ({PREFIXES[Token.Kind.RUNS]}…), created under Settings, API tokens."
)

FULL = "Too much is waiting to be stored. Please try again later."
FAULT = "This call failed because of an error in the portal."
SLOW_BODY = "The body did not arrive in time."

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Answer:
    """The answer to a call."""

    status: HTTPStatus
    content: bytes
    content_type: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Received:
    """A call as it arrived: `named` are the named parts of its address."""

    named: Mapping[str, str | None]
    headers: Mapping[str, str]
    body: bytes
    user: User
    at: datetime


@dataclass(frozen=True)
class Read:
    """What a call asks to store, None where nothing of it can be; `note` is whatever its door says of the rest."""

    call: LoggedCall | None
    note: object = None


@dataclass(frozen=True)
class Door:
    """One kind of calls: `address` matches its path as a whole.

    `read` raises NotAccepted for a call of which nothing can be stored, `said` is the answer once it is stored, and
    `refused` the answer where it is not, with why.
    """

    address: re.Pattern[str]
    read: Callable[[Received], Read]
    said: Callable[[Read], Answer]
    declined: Callable[[NotAccepted], Answer]
    problem: Callable[[HTTPStatus, str, Mapping[str, str]], Answer]


def lighter(call: LoggedCall) -> LoggedCall:
    """The call with the ends and extremes of its points alone, counted, for a server that has too much to store."""
    kept = thinned_call(call.points)
    return replace(call, points=kept, thinned=call.thinned + len(call.points) - len(kept))


def unpacked(body: bytes, headers: Mapping[str, str]) -> bytes:
    """The body as its sender meant it. Raises BodyTooLarge, MalformedBody."""
    encoding = headers.get("content-encoding", "identity").strip().lower()
    if encoding in ("", "identity"):
        return body
    if encoding != "gzip":
        raise MalformedBody("This Content-Encoding is not supported; use gzip.")
    return gunzip(body, BODY_BYTES_MAX)


def logging_person(secret: str | None, now: datetime) -> User:
    """The person whose token this is. Raises TurnedAway."""
    if secret is None:
        raise TurnedAway(HTTPStatus.UNAUTHORIZED, NOBODY, BEARER)
    if secret.startswith(tuple(PREFIXES[kind] for kind in PERSONAL if kind != Token.Kind.RUNS)):
        raise TurnedAway(HTTPStatus.FORBIDDEN, OTHER_TOKEN)
    found = token_and_holder(secret, now)
    if found is None:
        raise TurnedAway(HTTPStatus.UNAUTHORIZED, ENDED, BEARER)
    return found[1]


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
    found = logged_trouble(error, log)
    if found is None:
        log.error("a call of a script failed", exc_info=error)
        return door.problem(HTTPStatus.INTERNAL_SERVER_ERROR, FAULT, {})
    return door.problem(HTTPStatus.SERVICE_UNAVAILABLE, found.sentence, {"Retry-After": str(RETRY_AFTER_S)})
