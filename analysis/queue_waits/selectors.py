"""Reading waits: the recent starts of one partition, and the estimate for a request in it."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import cached_property
from typing import Any

from django.db.models import FloatField, Func, QuerySet

from analysis.queue_waits.effects import Effect, Smaller, smaller_effect
from analysis.queue_waits.models import WaitRange
from analysis.queue_waits.ranges import Band, Held, WaitEstimate, estimate
from analysis.queue_waits.rule import STARTS_MAX, WINDOW_S, Asked, Start, Starts, starts_of, typical_wait
from jobs.models import QUEUE, WAIT_END, Job
from jobs.selectors import BY_SITE

STALE_AFTER = timedelta(days=7)
"""Without a backtest for as long the ranges are not shown: nobody knows how well they hold."""

TIMES = ("submitted_at", "eligible_at", "started_at", "ended_at")
COLUMNS = (
    *("gpus_requested", "gpus_allocated", "nodes_requested", "node_count"),
    *("walltime_requested_s", "project_id", "user_id"),
)


class Epoch(Func):
    """A time in seconds since 1970: the driver reads numbers in a tenth of the time that it takes for times."""

    template = "EXTRACT(EPOCH FROM %(expressions)s)::double precision"
    output_field = FloatField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> tuple[str, Any]:
        template = "CAST(strftime('%%%%s', %(expressions)s) AS REAL)"
        return self.as_sql(compiler, connection, template=template, **context)


class WaitHistory:
    """What several estimates at one time rest on, each read once: the ranges of a cluster, and starts by partition."""

    def __init__(self, cluster: str, at: datetime) -> None:
        self.cluster, self.at = cluster, at
        self._starts: dict[str, Starts] = {}

    @cached_property
    def _ranges(self) -> dict[str, WaitRange]:
        made_lately = WaitRange.objects.filter(cluster=self.cluster, made_at__gt=self.at - STALE_AFTER)
        return {found.partition: found for found in made_lately}

    def range_of(self, partition: str) -> WaitRange | None:
        """How well ranges hold in a partition, or in the whole cluster; None where no backtest shows it."""
        return self._ranges.get(partition) or self._ranges.get("")

    def starts(self, partition: str) -> Starts:
        """The recent starts of a partition."""
        if partition not in self._starts:
            self._starts[partition] = recent_starts(self.cluster, partition, self.at)
        return self._starts[partition]


def wait_estimate(
    cluster: str,
    partition: str,
    nodes: int,
    gpus: int,
    limit_s: float | None,
    project: int | None,
    at: datetime,
    user: int | None = None,
    history: WaitHistory | None = None,
) -> WaitEstimate | None:
    """How long a job would probably wait in a partition of a cluster, from Slurm's `Eligible` to its start.

    `gpus` are those of the whole job, `limit_s` its time limit in seconds or None if it sets none; `project` and
    `user` the keys of the project's and the asking person's rows. Starts after `at` are not used. None where fewer
    than 15 comparable starts are known, too few people are among them, or no backtest of the last 7 days shows how
    well the range holds. Two queries, at most 3,000 rows; of several with one `history`, of this cluster and time, one
    more for each partition. Starts of all people are read; pass the user only if the answer is shown to them alone.
    """
    if not partition:
        return None
    history = history or WaitHistory(cluster, at)
    held = history.range_of(partition)
    if held is None:
        return None
    asked = Asked(gpus, nodes, limit_s, project, user, at.timestamp())
    typical = typical_wait(history.starts(partition), asked)
    if typical is None:
        return None
    band = Band(held.low_factor, held.high_factor, held.error_submissions)
    return estimate(typical, band, Held(held.coverage, held.factor_off, held.submissions, held.jobs))


def smaller_request(
    cluster: str,
    partition: str,
    nodes: int,
    gpus: int,
    limit_s: float | None,
    smaller: Smaller,
    at: datetime,
    history: WaitHistory | None = None,
) -> Effect | None:
    """By how much jobs with a shorter limit or fewer GPUs started sooner; None where the data do not show it.

    Arguments as of `wait_estimate`. One query, at most 3,000 rows.
    """
    asked = Asked(gpus, nodes, limit_s, None, None, at.timestamp())
    history = history or WaitHistory(cluster, at)
    return smaller_effect(history.starts(partition), asked, smaller)


def recent_starts(cluster: str, partition: str, at: datetime) -> Starts:
    """The latest starts of a partition whose run had ended then, with a record from Slurm, whoever owns them."""
    since = at - timedelta(seconds=WINDOW_S)
    runs = started(cluster, partition).filter(wait_end__gt=since, wait_end__lte=at, ended_at__lte=at)
    return starts_of(_rows(runs, STARTS_MAX))


def starts_since(cluster: str, partition: str, since: datetime, rows_max: int) -> Starts:
    """The starts of a partition since a time, the latest `rows_max`."""
    return starts_of(_rows(started(cluster, partition).filter(wait_end__gt=since), rows_max))


def started(cluster: str, partition: str) -> QuerySet[Any]:
    """The runs of a partition of which Slurm's record shows since when they could start, and that they did."""
    runs = Job.objects.annotate(queue=QUEUE, wait_end=WAIT_END).filter(BY_SITE, queue=f"{cluster}/{partition}")
    return runs.filter(eligible_at__isnull=False, started_at__isnull=False, ended_at__isnull=False)


def partitions_since(since: datetime, cluster: str | None = None) -> Iterator[tuple[str, list[str]]]:
    """Each cluster, or one, with its partitions in which runs ended since."""
    runs = Job.objects.filter(BY_SITE, eligible_at__isnull=False, ended_at__gt=since).exclude(partition="")
    if cluster is not None:
        runs = runs.filter(cluster=cluster)
    found: dict[str, list[str]] = {}
    for name, partition in runs.order_by("cluster", "partition").values_list("cluster", "partition").distinct():
        found.setdefault(name, []).append(partition)
    yield from found.items()


def _rows(runs: QuerySet[Any], rows_max: int) -> Iterator[Start]:
    """The latest of these runs as the rule reads them; what was requested, or allocated where no request is known."""
    times = [Epoch(time) for time in TIMES]
    for row in runs.order_by("-wait_end").values_list(*times, *COLUMNS)[:rows_max].iterator():
        submitted_s, eligible_s, started_s, ended_s, gpus, allocated, nodes, node_count, *others = row
        size = allocated if gpus is None else gpus, nodes or node_count
        yield Start(submitted_s, eligible_s, started_s, ended_s, *size, *others)
