"""One call of the ingest, whichever server received it: from its head and body to its answer."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from itertools import islice
from typing import Any

import msgspec
from django.conf import settings
from django.utils import timezone

from jobs.records import SCHEMA as JOB_RECORD
from portal.ingest.body import BodyTooLarge, MalformedBody, gunzip, records
from portal.ingest.senders import Sender, TurnedAway, kinds_for
from portal.ingest.services import Checked, Item, Outcome, Result, check, log_refusals, outcome_of
from portal.ingest.shedding import Load
from portal.ingest.tallies import waiting
from portal.rate_limits import OWN_RUNS, count_call
from portal.troubles import logged_trouble
from wire.payloads import NODE_SUMMARY, RAW_SAMPLES

log = logging.getLogger(__name__)

PREFIX = "/api/v1/ingest/"
SCHEMAS = {
    f"{PREFIX}node-summaries": NODE_SUMMARY,
    f"{PREFIX}job-records": JOB_RECORD,
    f"{PREFIX}raw-samples": RAW_SAMPLES,
}
"""The kind of payload that each address accepts."""

ERRORS_MAX = 100
"""Length limit of a call's list of errors; each record also has its errors beside its index."""

GZIP_SIZE_BYTES = 4

JSON, PROBLEM = "application/json", "application/problem+json"
QUOTING = (HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)
"""Errors that quote what was sent; they are returned to the sender only."""

RETRY_AFTER_S = 30
"""How long a sender waits if the database is unreachable; a restart of PostgreSQL takes less."""


@dataclass(frozen=True)
class Call:
    """A received call: `headers` by their names in lower case."""

    schema: str
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Answer:
    """The answer to a call; `is_work` where something was stored that the workers do not yet know."""

    status: HTTPStatus
    members: dict[str, Any]
    headers: Mapping[str, str] = field(default_factory=dict)
    is_work: bool = False

    @property
    def content_type(self) -> str:
        return PROBLEM if self.status >= HTTPStatus.BAD_REQUEST else JSON

    @property
    def content(self) -> bytes:
        return msgspec.json.encode(self.members)


def read(call: Call, sender: Sender) -> Checked:
    """The records of a call, each valid or rejected. Raises TurnedAway if the call as a whole cannot be accepted."""
    waiting.body(call.schema, len(call.body))
    kinds = kinds_for(sender, call.schema)
    documents = _documents(call)
    if len(documents) > sender.records_max:
        most = f"This token may send at most {sender.records_max:,} records in one call."
        raise TurnedAway(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, most)
    return check(documents, kinds, timezone.now(), sender.beyond)


def only_post(method: str) -> None:
    """Raise TurnedAway for any other method."""
    if method != "POST":
        raise TurnedAway(HTTPStatus.METHOD_NOT_ALLOWED, f'Method "{method[:20]}" not allowed.', {"Allow": "POST"})


def count(sender: Sender) -> None:
    """Count a call for a person's own runs, whose nodes all send at once; the site's nodes are not limited.

    Raises TurnedAway.
    """
    wait_s = count_call(OWN_RUNS, f"user {sender.user_pk}") if sender.user_pk is not None else 0
    if wait_s:
        why = f"Request was throttled. Expected available in {wait_s} seconds."
        raise TurnedAway(HTTPStatus.TOO_MANY_REQUESTS, why, {"Retry-After": str(wait_s)})


def turn_raw_away(load: Load | None) -> None:
    """Raise TurnedAway while raw samples are rejected."""
    if load is not None:
        why = f"Raw samples are rejected at the moment: {load.why}."
        raise TurnedAway(HTTPStatus.SERVICE_UNAVAILABLE, why, {"Retry-After": str(load.retry_after_s)})


def said(call: Call, sender: Sender, checked: Checked, results: Sequence[Result]) -> Answer:
    """The answer once every valid record is stored or rejected. Raises OperationalError if one has to be sent again."""
    outcome = outcome_of(checked, results)
    waiting.records(call.schema, checked, results, outcome, is_site=sender.user_pk is None)
    log_refusals(outcome, checked.count, sender.name, call.schema)
    is_new = (result is True and not is_of_running(item) for item, result in zip(checked.sound, results, strict=True))
    return replace(answer(outcome, _status(call.schema, outcome)), is_work=any(is_new))


def is_of_running(item: Item) -> bool:
    """Whether this is a summary of a run that goes on: a later one repeats everything, and it is not judged before."""
    return item.record.schema == NODE_SUMMARY and not item.record.final


def answer(outcome: Outcome, status: HTTPStatus) -> Answer:
    """The counts, with this status, or 422 if every record was rejected."""
    rejected: list[dict[str, Any]] = [
        {"index": index, "errors": [{"path": path, "message": message} for path, message in problems]}
        for index, problems in outcome.rejected
    ]
    counts: dict[str, Any] = {"accepted": outcome.accepted, "duplicate": outcome.duplicate, "rejected": rejected}
    if rejected and not outcome.accepted and not outcome.duplicate:
        errors = list(islice((error for record in rejected for error in record["errors"]), ERRORS_MAX))
        return problem(HTTPStatus.UNPROCESSABLE_ENTITY, "No record was accepted.", errors=errors, **counts)
    return Answer(status, counts)


def problem(status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None, **more: Any) -> Answer:
    """One problem in the format of RFC 9457; `more` are additional members."""
    return Answer(status, problem_members(status, detail, **more), headers or {})


def problem_members(status: HTTPStatus, detail: str, **more: Any) -> dict[str, Any]:
    """The members of a problem."""
    return {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail, **more}


def refusal(error: Exception) -> Answer | None:
    """The answer to a call that was not accepted; None for an unexpected error."""
    if isinstance(error, TurnedAway):
        return problem(error.status, error.why, error.headers)
    found = logged_trouble(error, log)
    return come_again(found.sentence) if found else None


def log_turned_away(sender: str, schema: str, error: Exception) -> None:
    """Log the sender of a call that is rejected as a whole; a call that only has to be retried is not logged."""
    status = getattr(error, "status", HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    if status < HTTPStatus.INTERNAL_SERVER_ERROR:
        why = status.phrase if status in QUOTING else error
        log.warning("%s: rejected a call of %s: %d, %s", sender, schema, status, why)


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
    """The size of the body once it is unpacked: gzip states it at its end (RFC 1952), and unpacking checks it."""
    if "content-encoding" not in call.headers:
        return len(call.body)
    return max(len(call.body), int.from_bytes(call.body[-GZIP_SIZE_BYTES:], "little"))


def _unpacked(call: Call) -> bytes:
    """The body within its limit, as sent and unpacked."""
    bytes_max = settings.INGEST_BODY_BYTES_MAX
    encoding = call.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip"):
        why = f"Content-Encoding {encoding[:40]!r} is not supported; use gzip."
        raise TurnedAway(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, why)
    if len(call.body) > bytes_max:
        raise BodyTooLarge(f"The body exceeds {bytes_max} bytes.")
    return gunzip(call.body, bytes_max) if encoding == "gzip" else call.body
