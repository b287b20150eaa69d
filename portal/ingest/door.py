"""One call of the ingest, whichever server it came through: from its head and body to its answer."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from typing import Any

import msgspec
from django.conf import settings
from django.utils import timezone

from collector.wire import NODE_SUMMARY, RAW_SAMPLES
from jobs.records import SCHEMA as JOB_RECORD
from portal.ingest.body import BodyTooLarge, MalformedBody, gunzip, records
from portal.ingest.senders import Sender, TurnedAway, kinds_for
from portal.ingest.services import Checked, Outcome, Result, check, log_refusals, outcome_of
from portal.ingest.shedding import Load
from portal.ingest.tallies import waiting
from portal.logs import type_of
from portal.rate_limits import OWN_RUNS, count_call
from portal.troubles import trouble

log = logging.getLogger(__name__)

PREFIX = "/api/v1/ingest/"
SCHEMAS = {
    f"{PREFIX}node-summaries": NODE_SUMMARY,
    f"{PREFIX}job-records": JOB_RECORD,
    f"{PREFIX}raw-samples": RAW_SAMPLES,
}
"""What each address takes."""

ERRORS_MAX = 100
"""As many stand in the list of a call's errors; each record has its own beside its place."""

GZIP_SIZE_BYTES = 4

JSON, PROBLEM = "application/json", "application/problem+json"
QUOTING = (HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
"""Refusals that quote what was sent, to the sender alone."""

RETRY_AFTER_S = 30
"""How long a sender waits when the database is away; a restart of PostgreSQL takes less."""


@dataclass(frozen=True)
class Call:
    """What a sender sent: `headers` by their names in lower case."""

    schema: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """What it gets."""

    status: HTTPStatus
    members: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def content_type(self) -> str:
        return PROBLEM if self.status >= HTTPStatus.BAD_REQUEST else JSON

    @property
    def content(self) -> bytes:
        return msgspec.json.encode(self.members)


def read(call: Call, sender: Sender) -> Checked:
    """The records of a call, each sound or refused. Raises TurnedAway where the call as a whole cannot be taken."""
    waiting.body(call.schema, len(call.body))
    kinds = kinds_for(sender, call.schema)
    documents = _documents(call)
    if len(documents) > sender.records_max:
        most = f"This token sends at most {sender.records_max:,} records in one call."
        raise TurnedAway(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, most)
    return check(documents, kinds, timezone.now(), sender.beyond)


def only_post(method: str) -> None:
    """Raise TurnedAway for any other method."""
    if method != "POST":
        raise TurnedAway(HTTPStatus.METHOD_NOT_ALLOWED, f'Method "{method[:20]}" not allowed.', {"Allow": "POST"})


def count(sender: Sender) -> None:
    """Count a call of a person's own runs, whose nodes all send at once; the site's send as they need.

    Raises TurnedAway.
    """
    wait_s = count_call(OWN_RUNS, f"user {sender.user_pk}") if sender.user_pk is not None else 0
    if wait_s:
        why = f"Request was throttled. Expected available in {wait_s} seconds."
        raise TurnedAway(HTTPStatus.TOO_MANY_REQUESTS, why, {"Retry-After": str(wait_s)})


def turn_raw_away(load: Load | None) -> None:
    """Raise TurnedAway where raw samples are not taken."""
    if load is not None:
        why = f"Raw samples are not taken at this moment: {load.why}."
        raise TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, why, {"Retry-After": str(load.retry_after_s)})


def said(call: Call, sender: Sender, checked: Checked, results: Sequence[Result]) -> Answer:
    """The answer once every sound record is stored or refused. Raises OperationalError where one has to come again."""
    outcome = outcome_of(checked, results)
    waiting.records(call.schema, checked, results, outcome, is_site=sender.user_pk is None)
    log_refusals(outcome, checked.count, sender.name, call.schema)
    return answer(outcome, _status(call.schema, outcome))


def answer(outcome: Outcome, status: HTTPStatus) -> Answer:
    """What was counted, under this status, or 422 when every record was refused."""
    rejected: list[dict[str, Any]] = [
        {"index": index, "errors": [{"path": path, "message": message} for path, message in problems]}
        for index, problems in outcome.rejected
    ]
    counts: dict[str, Any] = {"accepted": outcome.accepted, "duplicate": outcome.duplicate, "rejected": rejected}
    if rejected and not outcome.accepted and not outcome.duplicate:
        errors = list(islice((error for record in rejected for error in record["errors"]), ERRORS_MAX))
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "No record was taken.", errors=errors, **counts)
    return Answer(status, counts)


def problem(status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> Answer:
    """One problem in the words of RFC 9457; `more` are members of its own."""
    members = {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail, **more}
    return Answer(status, members, headers or {})


def refusal(error: Exception) -> Answer | None:
    """The answer to a call that was not taken; None for a fault that nobody foresaw."""
    if isinstance(error, TurnedAway):
        return problem(error.status, error.why, error.headers)
    found = trouble(error)
    if found is None:
        return None
    log.error("%s: %s", found.status, type_of(error))
    return come_again(found.sentence)


def log_turned_away(sender: str, schema: str, error: Exception) -> None:
    """Name the sender of a call that is refused whole; what only has to come again is no refusal."""
    status = getattr(error, "status", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        why = status.phrase if status in QUOTING else error
        log.warning("%s: a call of %s is refused: %d, %s", sender, schema, status, why)


def come_again(why: str, after_s: int = RETRY_AFTER_S) -> Answer:
    """503: nothing is wrong with what was sent."""
    return problem(HTTPStatus.SERVICE_UNAVAILABLE, why, {"Retry-After": str(after_s)})


def _status(schema: str, outcome: Outcome) -> HTTPStatus:
    if schema == RAW_SAMPLES:
        return HTTPStatus.ACCEPTED
    return HTTPStatus.CREATED if outcome.accepted else HTTPStatus.OK


def _documents(call: Call) -> list[Any]:
    if not call.body:
        raise TurnedAway(HTTPStatus.BAD_REQUEST, "The body is empty.")
    media_type = call.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != JSON:
        why = f'Unsupported media type "{media_type[:40]}" in request.'
        raise TurnedAway(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, why)
    try:
        return records(_unpacked(call))
    except BodyTooLarge as error:
        raise TurnedAway(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from error
    except MalformedBody as error:
        raise TurnedAway(HTTPStatus.BAD_REQUEST, str(error)) from error


def said_bytes(call: Call) -> int:
    """How long the body is once it is unpacked: gzip says so at its end (RFC 1952), and unpacking checks that."""
    if "content-encoding" not in call.headers:
        return len(call.body)
    return max(len(call.body), int.from_bytes(call.body[-GZIP_SIZE_BYTES:], "little"))


def _unpacked(call: Call) -> bytes:
    """The body within its limit, as sent and unpacked."""
    bytes_max = settings.INGEST_BODY_BYTES_MAX
    encoding = call.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        why = f"Content-Encoding {encoding[:40]!r} is not known here; gzip is."
        raise TurnedAway(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, why)
    if len(call.body) > bytes_max:
        raise BodyTooLarge(f"The body passes {bytes_max} bytes.")
    return gunzip(call.body, bytes_max) if encoding == "gzip" else call.body
