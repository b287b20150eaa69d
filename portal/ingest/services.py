"""Ingest: each record is checked and stored separately, so an invalid record does not affect the rest of its batch."""

import json
import logging
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from itertools import islice
from operator import itemgetter
from typing import Any, NamedTuple

import msgspec
from django.db import DatabaseError, DataError, IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from jobs import records as job_records
from jobs.runs.services import RecordConflict
from jobs.services import record_job, record_jobs
from metrics import payloads, raw_samples
from metrics.services import record_node_summaries, record_node_summary, record_raw_window
from portal.ingest.body import Document, MalformedBody
from portal.ingest.explain import PROBLEMS_MAX, Problem, explain, first_problem, non_finite
from portal.troubles import trouble
from wire.payloads import NODE_SUMMARY, RAW_SAMPLES

log = logging.getLogger(__name__)

PATHS_LOGGED = 5
IN_THE_WAY = ("40P01", "55P03")
"""deadlock_detected and lock_not_available (PostgreSQL, appendix A)."""

OUT_OF_TIME = OperationalError("other transactions blocked it for too long")
TOGETHER_SHARE, ALONE_SHARE = 0.1, 0.05
"""The share of its time limit that a transaction waits for a row: with many records, and when one waited before."""

INSTANTS = ("submitted_at", "started_at", "ended_at")
AHEAD_MAX = timedelta(days=1)
"""Of any clock: one that keeps local time as if it were UTC is at most fourteen hours ahead."""

EXPLAINED_MAX = 20
"""Every wrong field is named for this many rejected records of a call, only the first one for each further record,
because looking for all of them takes a thousand times longer than rejecting."""

TOGETHER = 500
"""The number of a file's records in one transaction."""


@dataclass(frozen=True)
class Kind:
    """One payload: its struct, the check across its fields, and the service that stores it.

    `record_all`, if there is one, stores many in a few statements, and returns None for those that must be stored
    separately.
    """

    struct: type[msgspec.Struct]
    problems: Callable[[Any], list[Problem]]
    record: Callable[[Any], bool]
    record_all: Callable[[Sequence[Any]], Sequence[bool | None]] | None = None


Kinds = Mapping[str, Kind]
KINDS: Kinds = {
    NODE_SUMMARY: Kind(payloads.NodePayload, payloads.problems, record_node_summary, record_node_summaries),
    RAW_SAMPLES: Kind(raw_samples.RawSamplesPayload, raw_samples.problems, record_raw_window),
    job_records.SCHEMA: Kind(job_records.JobRecord, job_records.problems, record_job, record_jobs),
}


class Refused(ValueError):
    """A record that cannot be accepted, with every reason."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{path}: {message}" for path, message in problems))
        self.problems = problems


class Envelope(msgspec.Struct, frozen=True):
    """What identifies the kind of a record before the rest of it is read."""

    schema: str


class Item(NamedTuple):
    """A valid record with its index among those that arrived with it."""

    place: int
    kind: Kind
    record: Any


@dataclass
class Checked:
    """Records that arrived together: of `count` records, those in `sound` may be stored and those in `rejected` may
    not."""

    count: int = 0
    sound: list[Item] = field(default_factory=list)
    rejected: list[tuple[int, list[Problem]]] = field(default_factory=list)


Result = bool | Refused | OperationalError
"""The outcome of one record: whether it was new, why it was rejected, or that the database could not store it now."""


@dataclass
class Outcome:
    """How many records were new, how many known, and which were rejected: `(index, problems)`."""

    accepted: int = 0
    duplicate: int = 0
    rejected: list[tuple[int, list[Problem]]] = field(default_factory=list)


def ingest(documents: Iterable[Document | MalformedBody], schemas: Iterable[str], kinds: Kinds = KINDS) -> Outcome:
    """Store every valid record of a file; everything counted as accepted or duplicate is committed.

    `schemas` are those of `kinds` that may be sent. Raises OperationalError if the database is unreachable.
    """
    checked = check(documents, {schema: kinds[schema] for schema in schemas}, timezone.now())
    results: list[Result] = []
    for first in range(0, len(checked.sound), TOGETHER):
        results += store(checked.sound[first : first + TOGETHER])
    return outcome_of(checked, results)


def check(
    documents: Iterable[Document | MalformedBody],
    kinds: Kinds,
    now: datetime,
    beyond: Callable[[Any], list[Problem]] | None = None,
) -> Checked:
    """Which records may be stored, without using the database. `beyond` returns what their sender may not write."""
    until = now + AHEAD_MAX
    checked = Checked()
    for place, document in enumerate(documents):
        checked.count += 1
        is_brief = len(checked.rejected) >= EXPLAINED_MAX
        try:
            checked.sound.append(Item(place, *_sound(document, kinds, until, beyond, is_brief=is_brief)))
        except Refused as refused:
            checked.rejected.append((place, refused.problems[: 1 if is_brief else PROBLEMS_MAX]))
    return checked


def store(items: Sequence[Item], patience_s: float | None = None) -> list[Result]:
    """Store valid records of any senders in one transaction; an invalid record does not affect the others.

    They are stored in the order of their jobs, so that two of these transactions only wait for each other. If another
    transaction blocks them, each record is tried separately. Raises OperationalError if the database is unreachable, or
    on PostgreSQL if one statement takes longer than `patience_s`.
    """
    try:
        return _in_one_transaction(items, patience_s)
    except OperationalError as error:
        if len(items) == 1 or not is_in_the_way(error):
            raise
    until_s = time.monotonic() + (patience_s or math.inf)
    return [_by_itself(item, patience_s) if time.monotonic() < until_s else OUT_OF_TIME for item in items]


def limit_statements(statement_s: float, lock_s: float) -> None:
    """Limit each statement of this transaction on PostgreSQL, and the time that it waits for a lock."""
    if connection.vendor == "postgresql":
        settings = "SELECT set_config('statement_timeout', %s, true), set_config('lock_timeout', %s, true)"
        with connection.cursor() as cursor:
            cursor.execute(settings, [f"{statement_s * 1000:.0f}", f"{lock_s * 1000:.0f}"])


def is_in_the_way(error: OperationalError) -> bool:
    """Whether another transaction holds what this one needs: a deadlock, or a lock that was not granted in time."""
    return getattr(error.__cause__, "sqlstate", "") in IN_THE_WAY


def outcome_of(checked: Checked, results: Sequence[Result]) -> Outcome:
    """The outcome of records that were checked together. Raises OperationalError if one of them has to be sent
    again."""
    outcome = Outcome(rejected=list(checked.rejected))
    for item, result in zip(checked.sound, results, strict=True):
        if isinstance(result, OperationalError):
            raise result
        if isinstance(result, Refused):
            outcome.rejected.append((item.place, result.problems))
        elif result:
            outcome.accepted += 1
        else:
            outcome.duplicate += 1
    outcome.rejected.sort(key=itemgetter(0))
    return outcome


def log_refusals(outcome: Outcome, count: int, sender: str, schema: str) -> None:
    """Log the sender of rejected records and the paths of wrong fields, but none of the values."""
    if outcome.rejected:
        paths = Counter(path or "the whole record" for _, problems in outcome.rejected for path, _ in problems)
        named = ", ".join(f"{path} ({times})" for path, times in paths.most_common(PATHS_LOGGED))
        log.warning("%s: rejected %d of %d records of %s: %s", sender, len(outcome.rejected), count, schema, named)


def _sound(
    document: Document | MalformedBody,
    kinds: Kinds,
    until: datetime,
    beyond: Callable[[Any], list[Problem]] | None,
    *,
    is_brief: bool,
) -> tuple[Kind, Any]:
    if isinstance(document, MalformedBody):
        raise Refused([("", str(document))])
    kind = kinds[_schema(document, kinds, is_brief=is_brief)]
    record = _decoded(document, kind, is_brief=is_brief)
    problems = [*(beyond(record) if beyond else ()), *(kind.problems(record) or _ahead(record, until))]
    if problems:
        raise Refused(problems)
    return kind, record


def _ahead(record: Any, until: datetime) -> list[Problem]:
    """Instants in the future: some senders' clocks are ahead of ours, but never by this much."""
    said = ((name, getattr(record, name, None)) for name in INSTANTS)
    return [(name, "is in the future") for name, at in said if at is not None and at > until]


def _in_one_transaction(items: Sequence[Item], patience_s: float | None) -> list[Result]:
    by_kind: dict[int, list[int]] = {}
    for place, item in sorted(enumerate(items), key=lambda numbered: _order(numbered[1].record)):
        by_kind.setdefault(id(item.kind), []).append(place)
    results: dict[int, Result] = {}
    with transaction.atomic():
        if patience_s is not None:
            limit_statements(patience_s, patience_s * (ALONE_SHARE if len(items) == 1 else TOGETHER_SHARE))
        for places in by_kind.values():
            kind = items[places[0]].kind
            results |= zip(places, _of_a_kind(kind, [items[place].record for place in places]), strict=True)
    return [results[place] for place in range(len(items))]


def _order(record: Any) -> tuple[str, int, int]:
    return record.cluster, record.job_id, record.attempt


def _of_a_kind(kind: Kind, records: Sequence[Any]) -> Sequence[Result]:
    """The outcome of records in the order of their jobs: a repeated record is known and needs no statement."""
    if kind.record_all is None:
        return _stored_together(kind, records)
    is_again = [place > 0 and record == records[place - 1] for place, record in enumerate(records)]
    stored = iter(
        _stored_together(kind, [record for record, again in zip(records, is_again, strict=True) if not again])
    )
    results: list[Result] = []
    for again in is_again:
        result = results[-1] if again else next(stored)
        results.append(False if again and result is True else result)
    return results


def _stored_together(kind: Kind, records: Sequence[Any]) -> Sequence[Result]:
    if kind.record_all is not None and len(records) > 1:
        try:
            told = kind.record_all(records)
        except Exception as error:
            if trouble(error) is not None:
                raise
            _log_fault("records of %s could not be stored together", kind, error)
        else:
            together = zip(told, records, strict=True)
            return [_one(kind, record) if is_new is None else is_new for is_new, record in together]
    return [_one(kind, record) for record in records]


def _by_itself(item: Item, patience_s: float | None) -> Result:
    try:
        return _in_one_transaction([item], patience_s)[0]
    except OperationalError as error:
        if not is_in_the_way(error):
            raise
        return error


def _one(kind: Kind, record: Any) -> Result:
    try:
        return kind.record(record)
    except RecordConflict as conflict:
        return Refused(conflict.problems)
    except DataError as error:
        return Refused([("", f"cannot be stored: {error}".splitlines()[0])])
    except IntegrityError as error:
        _log_fault("a record of %s conflicted with another", kind, error)
        return OperationalError(*error.args)
    except (ValueError, TypeError, ArithmeticError, LookupError, MemoryError) as error:
        # An error of the portal with this record: sending it again would have the same result.
        log.exception("a record of %s could not be stored", kind.struct.__name__)
        return Refused([("", f"cannot be stored: {type(error).__name__}")])


def _log_fault(what: str, kind: Kind, error: Exception) -> None:
    """A database error quotes the row, so only its type is logged."""
    is_quoting = isinstance(error, DatabaseError)
    log.error(f"{what}: %s", kind.struct.__name__, type(error).__name__, exc_info=None if is_quoting else error)


def _schema(document: Document, kinds: Kinds, *, is_brief: bool) -> str:
    try:
        schema: str = _converted(document, Envelope).schema
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused([first_problem(error)] if is_brief else _explained(document, Envelope)) from None
    if schema not in kinds:
        raise Refused([("schema", f"unknown schema; accepted here: {', '.join(kinds)}")])
    return schema


def _decoded(document: Document, kind: Kind, *, is_brief: bool) -> msgspec.Struct:
    try:
        if not isinstance(document, msgspec.Raw) and (wrong := list(islice(non_finite(document), PROBLEMS_MAX))):
            raise Refused(wrong)
        decoded: msgspec.Struct = _converted(document, kind.struct)
        return decoded
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise Refused([first_problem(error)] if is_brief else _explained(document, kind.struct)) from None


def _converted(document: Document, struct: type[msgspec.Struct]) -> Any:
    if isinstance(document, msgspec.Raw):
        return msgspec.json.decode(document, type=struct)
    return msgspec.convert(document, struct, str_keys=True)


def _explained(document: Document, struct: type[msgspec.Struct]) -> list[Problem]:
    try:
        value = msgspec.json.decode(document) if isinstance(document, msgspec.Raw) else document
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _beyond_all(document) or [("", f"not readable: {error}")]
    return explain(value, struct) or [("", "not readable")]


def _beyond_all(document: Document) -> list[Problem]:
    """The numbers of a document that a float cannot represent, such as 1e999."""
    if not isinstance(document, msgspec.Raw):
        return []
    try:
        return list(islice(non_finite(json.loads(bytes(document))), PROBLEMS_MAX))
    except (TypeError, ValueError, RecursionError):
        return []
