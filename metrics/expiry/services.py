"""Removing measurements whose retention is over, in batches.

Each batch is a separate transaction and is selected again: a run that is stopped half-way needs no clean-up. Every
generator yields how much it removed after each batch, so that a caller can stop.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from metrics.models import NodeSummary, RawWindow, RunningNode
from metrics.selectors import Key

BATCH_ROWS = 500
"""The number of rows that one statement removes: it ends soon, so that new data does not wait for it."""


def remove_raw_windows(before: datetime) -> Iterator[int]:
    """Delete the raw windows that arrived before then."""
    return _remove_received(RawWindow, before)


def remove_running_nodes(before: datetime) -> Iterator[int]:
    """Delete the recent use of nodes that sent none since then: their final summary never arrived."""
    return _remove_received(RunningNode, before)


def _remove_received(model: type[RawWindow | RunningNode], before: datetime) -> Iterator[int]:
    old = model._default_manager.filter(received_at__lt=before)
    while keys := list(old.order_by("received_at").values_list("pk", flat=True)[:BATCH_ROWS]):
        yield old.filter(pk__in=keys).delete()[0]


def empty_series(after: datetime | None, before: datetime) -> Iterator[tuple[int, datetime]]:
    """Remove the timelines of summaries last changed in this time, and keep their figures; the oldest first.

    Yields the number of summaries and up to when all are done, which is where the next call may begin.
    """
    old = NodeSummary.objects.filter(changed_at__lt=before)
    for batch in _in_order(old if after is None else old.filter(changed_at__gte=after)):
        pks = [pk for pk, *_ in batch]
        NodeSummary.objects.filter(pk__in=pks).update(series=b"")
        yield len(pks), batch[-1][1]


def measured_runs(before: datetime) -> Iterator[set[Key]]:
    """The runs of summaries that last changed before then, in batches, the oldest first."""
    for batch in _in_order(NodeSummary.objects.filter(changed_at__lt=before)):
        yield {tuple(key) for _, _, *key in batch}


def forget_runs(keys: Iterable[Key]) -> None:
    """Delete everything that was measured of these runs, within a transaction of the caller."""
    for cluster, job_id, attempt in keys:
        run = {"cluster": cluster, "job_id": job_id, "attempt": attempt}
        RawWindow.objects.filter(**run).delete()
        nodes = NodeSummary.objects.filter(**run)
        while pks := list(nodes.values_list("pk", flat=True)[:BATCH_ROWS]):
            nodes.filter(pk__in=pks).delete()
        # After the summaries, as where they are stored: two transactions then only wait for each other.
        RunningNode.objects.filter(**run).delete()


def _in_order(rows: QuerySet[NodeSummary]) -> Iterator[list[tuple[Any, ...]]]:
    """(Key of the row, time of its last change, cluster, job id, attempt) in the order of those times."""
    columns, left = ("pk", "changed_at", "cluster", "job_id", "attempt"), rows
    while batch := list(left.order_by("changed_at", "pk").values_list(*columns)[:BATCH_ROWS]):
        yield batch
        pk, changed_at, *_ = batch[-1]
        # The first condition follows from the second; it lets an index start at the right place.
        left = rows.filter(Q(changed_at__gt=changed_at) | Q(pk__gt=pk), changed_at__gte=changed_at)
