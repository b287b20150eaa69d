"""Ingest: each record is checked and stored by itself, so that one bad record refuses itself and not its batch."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

import msgspec
from django.db import DataError

from collector.wire import NODE_SUMMARY
from jobs import records as job_records
from jobs.services import RecordConflict, record_job
from metrics import payloads
from metrics.services import record_node_summary
from portal.ingest.body import Document, MalformedBody
from portal.ingest.explain import Problem, explain, non_finite

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Kind:
    """One payload: its struct, the check across its fields, and the service that stores it."""

    struct: type[msgspec.Struct]
    problems: Callable[[Any], list[Problem]]
    record: Callable[[Any], bool]


KINDS = {
    NODE_SUMMARY: Kind(payloads.NodePayload, payloads.problems, record_node_summary),
    job_records.SCHEMA: Kind(job_records.JobRecord, job_records.problems, record_job),
}


class Refused(ValueError):
    """A record that cannot be taken, and every reason why."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__("; ".join(f"{path}: {message}" for path, message in problems))
        self.problems = problems


class Envelope(msgspec.Struct, frozen=True):
    """What tells the kind of a record before the rest of it is read."""

    schema: str


@dataclass
class Outcome:
    """How many records were new, how many known, and which were refused: `(index, problems)`."""

    accepted: int = 0
    duplicate: int = 0
    rejected: list[tuple[int, list[Problem]]] = field(default_factory=list)


def ingest(
    documents: Iterable[Document | MalformedBody], schemas: Iterable[str], cluster: str | None = None
) -> Outcome:
    """Store every good record of a batch; what this counts as accepted or duplicate is committed.

    `schemas` are the kinds that may come; with `cluster` a record of any other cluster is refused.
    """
    outcome = Outcome()
    for index, document in enumerate(documents):
        try:
            if _store(document, tuple(schemas), cluster):
                outcome.accepted += 1
            else:
                outcome.duplicate += 1
        except Refused as refused:
            outcome.rejected.append((index, refused.problems))
    if outcome.rejected:
        log.warning("refused %d of %d records", len(outcome.rejected), index + 1)
    return outcome


def _store(document: Document | MalformedBody, schemas: tuple[str, ...], cluster: str | None) -> bool:
    if isinstance(document, MalformedBody):
        raise Refused([("", str(document))])
    kind = KINDS[_schema(document, schemas)]
    record = _decoded(document, kind)
    problems = kind.problems(record)
    if cluster is not None and record.cluster != cluster:
        problems.insert(0, ("cluster", f"this token speaks for {cluster} only"))
    if problems:
        raise Refused(problems)
    try:
        return kind.record(record)
    except RecordConflict as conflict:
        raise Refused(conflict.problems) from conflict
    except DataError as error:
        raise Refused([("", f"cannot be stored: {error}".splitlines()[0])]) from error


def _schema(document: Document, schemas: tuple[str, ...]) -> str:
    try:
        schema = _converted(document, Envelope).schema
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Refused(_explained(document, Envelope)) from None
    if schema not in schemas:
        raise Refused([("schema", f"unknown schema; known here: {', '.join(schemas)}")])
    return schema


def _decoded(document: Document, kind: Kind) -> msgspec.Struct:
    try:
        if not isinstance(document, msgspec.Raw) and (wrong := list(non_finite(document))):
            raise Refused(wrong)
        return _converted(document, kind.struct)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise Refused(_explained(document, kind.struct)) from None


def _converted(document: Document, struct: type[msgspec.Struct]) -> Any:
    if isinstance(document, msgspec.Raw):
        return msgspec.json.decode(document, type=struct)
    return msgspec.convert(document, struct, str_keys=True)


def _explained(document: Document, struct: type[msgspec.Struct]) -> list[Problem]:
    try:
        value = msgspec.json.decode(document) if isinstance(document, msgspec.Raw) else document
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return [("", f"not readable: {error}")]
    return explain(value, struct) or [("", "not readable")]
