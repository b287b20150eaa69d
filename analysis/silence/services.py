"""Nodes that have gone silent: those whose latest runs came without a summary of them.

Only the nodes of runs that are judged are looked at, so a node that runs no jobs is never called silent.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import datetime, timedelta

from django.db.models import F

from analysis.models import SilentNode
from analysis.silence.selectors import FORGOTTEN_AFTER
from jobs.expiry.services import remove_rows
from jobs.models import Job
from metrics.selectors import nodes_heard_since

FRESH = timedelta(days=1)
"""What ended before says nothing of whether a node is silent now: it may be history that somebody brought in."""


def note_nodes(job: Job, heard: Collection[str], missing: Sequence[str], now: datetime) -> None:
    """Keep which nodes of a run that was just judged sent a summary, and which did not."""
    if job.ended_at is None:
        return
    if heard:
        SilentNode.objects.filter(cluster=job.cluster, node__in=heard, last_at__lte=job.ended_at).delete()
    if missing and now - FRESH < job.ended_at <= now:
        # The run of a node that ended later may have been judged first.
        later = nodes_heard_since(job.cluster, missing, job.ended_at)
        _note_missing(job, [node for node in missing if node not in later])


def forget_silent_nodes(now: datetime) -> Iterator[int]:
    """Remove nodes that ran nothing for a long time; yields how many after each batch."""
    yield from remove_rows(SilentNode.objects.filter(last_at__lt=now - FORGOTTEN_AFTER))


def _note_missing(job: Job, nodes: list[str]) -> None:
    known = SilentNode.objects.filter(cluster=job.cluster, node__in=nodes)
    again = known.filter(last_at__lt=job.ended_at)
    again.update(last_at=job.ended_at, runs=F("runs") + 1)
    fresh = set(nodes) - set(known.values_list("node", flat=True))
    SilentNode.objects.bulk_create(
        (
            SilentNode(cluster=job.cluster, node=node, since=job.ended_at, last_at=job.ended_at)
            for node in sorted(fresh)
        ),
        ignore_conflicts=True,
    )
