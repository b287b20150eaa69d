"""Silent nodes: those that sent no summary of their latest runs.

Only the nodes of judged runs are checked, so a node that runs no jobs is never silent.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from django.db.models import DateTimeField, F, Value
from django.db.models.functions import Greatest, Least

from analysis.models import SilentNode
from analysis.silence.selectors import FORGOTTEN_AFTER
from jobs.expiry.services import remove_rows
from jobs.models import Job
from metrics.selectors import nodes_heard_since

FRESH = timedelta(days=1)
"""Runs that ended earlier do not show whether a node is silent now: they may be imported history."""


def note_nodes(job: Job, missing: Sequence[str], now: datetime, *, is_first: bool) -> None:
    """Store which nodes of a run that was just judged, for the first time or again, sent a summary, and which, as Slurm
    names them, did not."""
    if job.ended_at is None:
        return
    heard = set(job.nodes) - set(missing)
    if heard:
        SilentNode.objects.filter(cluster=job.cluster, node__in=heard, last_at__lte=job.ended_at).delete()
    if missing and now - FRESH < job.ended_at <= now:
        # The run of a node that ended later may have been judged first.
        later = nodes_heard_since(job.cluster, missing, job.ended_at)
        _note_missing(job, [node for node in missing if node not in later], is_first=is_first)


def forget_silent_nodes(now: datetime) -> Iterator[int]:
    """Remove nodes that ran nothing for a long time; yields how many after each batch."""
    yield from remove_rows(SilentNode.objects.filter(last_at__lt=now - FORGOTTEN_AFTER))


def _note_missing(job: Job, nodes: Sequence[str], *, is_first: bool) -> None:
    known = SilentNode.objects.filter(cluster=job.cluster, node__in=nodes)
    fresh = sorted(set(nodes) - set(known.values_list("node", flat=True)))
    if is_first:
        ended_at = Value(job.ended_at, DateTimeField())
        known.update(since=Least("since", ended_at), last_at=Greatest("last_at", ended_at), runs=F("runs") + 1)
    began = {"cluster": job.cluster, "since": job.ended_at, "last_at": job.ended_at}
    SilentNode.objects.bulk_create((SilentNode(node=node, **began) for node in fresh), ignore_conflicts=True)
