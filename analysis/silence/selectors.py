"""Reading what is missing: jobs without all of their summaries, and silent nodes."""

from collections import Counter
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db.models import Count, Exists, Min, OuterRef, Q, QuerySet

from analysis.early.models import RunningRun
from analysis.models import JobEfficiency, SilentNode
from jobs.queue.selectors import fresh_since, readings
from metrics.models import RunningNode

AGES = {"1h": timedelta(hours=1), "6h": timedelta(hours=6), "1d": timedelta(days=1), "7d": timedelta(days=7)}
"""How long ago a job ended, at most; the ages do not overlap."""

FORGOTTEN_AFTER = timedelta(days=30)
"""A node that ran nothing for this long has left the cluster or was renamed."""


def jobs_missing_summaries(now: datetime) -> Counter[tuple[str, str]]:
    """How many jobs of the last week were judged without a summary of `all` or `some` of their nodes, by (nodes, age).

    Every pair is present, also with 0. Runs that only their owner measured are left out: the site's hooks did not run.
    """
    limits = [now, *(now - age for age in AGES.values())]
    sums = {
        f"{nodes}_{age}": Count("pk", filter=Q(ended_at__lte=until, ended_at__gt=since) & is_so)
        for age, until, since in zip(AGES, limits, limits[1:], strict=False)
        for nodes, is_so in (("all", Q(metrics_revision=0)), ("some", ~Q(metrics_revision=0)))
    }
    rows = JobEfficiency.objects.filter(missing_nodes__gt=0, ended_at__gt=limits[-1], is_told_by_owner=False)
    counted = rows.aggregate(**sums)
    return Counter({(key.partition("_")[0], key.partition("_")[2]): count for key, count in counted.items()})


class SilentRunningNode(NamedTuple):
    """A node that sent something of a running job and then nothing for too long; `since` is its last sample of it."""

    cluster: str
    node: str
    since: datetime


def silent_running_nodes(now: datetime, after: timedelta) -> list[SilentRunningNode]:
    """The nodes that have sent nothing of a job for so long that still runs there, the longest silent first.

    Only where the queue was read lately: otherwise the job may have ended. Nothing here names a job. One query.
    """
    of_run = {name: OuterRef(name) for name in ("cluster", "job_id", "attempt")}
    fresh = readings().filter(read_at__gte=fresh_since(now)).order_by().values("cluster")
    silent = RunningNode.objects.filter(
        Exists(RunningRun.objects.filter(**of_run, left_at=None)), cluster__in=fresh, ended_at__lt=now - after
    )
    rows = silent.values_list("cluster", "node").annotate(since=Min("ended_at")).order_by("since", "cluster", "node")
    return [SilentRunningNode(*row) for row in rows]


def silent_nodes(now: datetime) -> QuerySet[SilentNode]:
    """The nodes that sent no summary of their latest runs, the longest silent first."""
    return SilentNode.objects.filter(last_at__gt=now - FORGOTTEN_AFTER).order_by("since", "cluster", "node")
