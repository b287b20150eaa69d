"""Counts of what arrives: calls by kind and answer, and what the collectors reported that they could not do."""

import threading
from collections import Counter
from collections.abc import Sequence

from django.db import DatabaseError, InterfaceError
from django.utils import timezone

from jobs.tallies.kinds import (
    BODY_BYTES,
    CALLS,
    COLLECTOR_FAILURES,
    LOGGED_CALLS,
    LOGGED_POINTS,
    RECORDS,
    SUMMARIES,
    Counts,
)
from jobs.tallies.selectors import REASONS_KEPT, counted_since
from jobs.tallies.services import add
from metrics.payloads import NodePayload
from metrics.selectors import failure_reason
from portal.ingest.services import Checked, Outcome, Result
from wire.payloads import NODE_SUMMARY

REASONS_MAX = 50
"""A scraper keeps a series for each reason permanently, so reasons beyond this number are counted as one."""

OTHER = "other"


class Waiting:
    """What this process counted since it last wrote its counts; several threads may add to it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counts: Counts = Counter()
        self._reasons: set[tuple[str, ...]] = set()

    def answered(self, schema: str, code: int) -> None:
        """One call was answered."""
        self._add(CALLS.of(_kind(schema), str(code)))

    def body(self, schema: str, size_bytes: int) -> None:
        """The body of a call arrived."""
        self._add(BODY_BYTES.of(_kind(schema), times=size_bytes))

    def records(
        self, schema: str, checked: Checked, results: Sequence[Result], outcome: Outcome, is_site: bool
    ) -> None:
        """The outcome of the records of one call; for the site's collectors also the failures that they reported.

        A summary of a run that goes on counts as a record only: the final one reports the same failures.
        """
        kind = _kind(schema)
        self._add(
            RECORDS.of(kind, "accepted", times=outcome.accepted),
            RECORDS.of(kind, "duplicate", times=outcome.duplicate),
            RECORDS.of(kind, "rejected", times=len(outcome.rejected)),
        )
        if schema == NODE_SUMMARY and is_site:
            for item, result in zip(checked.sound, results, strict=True):
                if result is True and item.record.final:
                    self._add(SUMMARIES.of(item.record.cluster), _failures(item.record))

    def logged(self, code: int) -> None:
        """A call of a script that logs points was answered."""
        self._add(LOGGED_CALLS.of(str(code)))

    def points(self, stored: int, thinned: int) -> None:
        """How many points of a call were stored, and how many left out of it."""
        self._add(LOGGED_POINTS.of("stored", times=stored), LOGGED_POINTS.of("thinned", times=thinned))

    def write(self) -> None:
        """Write what was counted since the last time, or keep it for the next time if the database is unreachable."""
        with self._lock:
            counts, self._counts = self._counts, Counter()
        try:
            is_written = add(self._known(counts))
        except (DatabaseError, InterfaceError):
            is_written = False
        if not is_written:
            self._add(counts)

    def _add(self, *counts: Counts) -> None:
        with self._lock:
            for each in counts:
                self._counts.update(each)

    def _known(self, counts: Counts) -> Counts:
        """The same with reasons beyond the first ones as one, because nothing else limits what collectors report."""
        given = {labels for name, labels in counts if name == COLLECTOR_FAILURES.name}
        if not given <= self._reasons:
            lately = timezone.now() - REASONS_KEPT
            found = (labels for labels, _ in counted_since(COLLECTOR_FAILURES.name, lately))
            self._reasons = {labels for labels in found if labels[1] != OTHER}
        known: Counts = Counter()
        for (name, labels), times in counts.items():
            if name == COLLECTOR_FAILURES.name and labels not in self._reasons:
                if len(self._reasons) < REASONS_MAX:
                    self._reasons.add(labels)
                else:
                    labels = (labels[0], OTHER)
            known[name, labels] += times
        return known


def _kind(schema: str) -> str:
    """The kind of payload without its version."""
    return schema.partition("/")[0]


def _failures(record: NodePayload) -> Counts:
    """The failures that one summary states, each reason once."""
    reasons = {failure_reason(error) for error in record.errors}
    counts: Counts = Counter()
    for reason in reasons:
        counts.update(COLLECTOR_FAILURES.of(record.cluster, reason))
    return counts


waiting = Waiting()
