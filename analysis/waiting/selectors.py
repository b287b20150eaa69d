"""Reading who waited while a run left GPUs idle, and which runs are to be checked again."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import UTC, date, datetime, timedelta
from functools import reduce
from operator import or_
from typing import Any, NamedTuple

from django.db.models import F, Q, QuerySet

from analysis.months.selectors import month_ends
from analysis.site.figures import DIMENSIONS, MonthFigures, SiteRun, groups_of, parts_of
from analysis.site.idle import IdleHours, IdleSums
from analysis.site.selectors import READ, rows_of_month
from analysis.waiting.models import IdleHold
from analysis.waiting.rule import WAITED_MIN, IdleRun, Waiting
from jobs.hardware import partition_of
from jobs.models import QUEUE, WAIT_END, Job
from jobs.records import QUEUE_WAIT_S_MAX
from jobs.selectors import BY_SITE, Reach
from jobs.work_queue.selectors import failed_often

CHECK = "check of who waited"
"""The kind of work under which a failure is recorded; its key is the job's row."""

CLOSES_ANYWAY = timedelta(days=3)
"""No longer than this does a month wait for a check that is due: something is wrong then, and the rest is shown."""

WAIT_MAX = timedelta(days=14)
"""Waits that ended longer than this after a run are not read: this bounds how much of the index a check reads."""

WAITING_MAX = 20_000
"""As many waiting jobs are compared with one run; that more wait in a partition is not known of any site."""

PAGE_ROWS = 500
HOUR_S = 3600


class Stretch(NamedTuple):
    """A time in which jobs of a partition waited, whose records changed."""

    cluster: str
    partition: str
    since: datetime
    until: datetime


def idle_run_of(hold: IdleHold) -> IdleRun | None:
    """The run as the rule reads it; None where its partition is no longer described."""
    partition = partition_of(hold.cluster, hold.partition)
    if partition is None:
        return None
    idle = {int(gpus): nodes for gpus, nodes in hold.idle.items()}
    return IdleRun(
        hold.user_id, hold.started_at, hold.ended_at, idle, partition.node.gpus, is_whole_nodes=partition.is_exclusive
    )


def waiting_during(hold: IdleHold) -> Iterator[Waiting]:
    """The jobs with a record from Slurm that waited in the same partition during a run, whoever owns them."""
    jobs = waits().filter(
        queue=f"{hold.cluster}/{hold.partition}",
        wait_end__gt=hold.started_at + WAITED_MIN,
        wait_end__lte=hold.ended_at + WAIT_MAX,
        eligible_at__lt=hold.ended_at - WAITED_MIN,
        eligible_at__gte=hold.started_at - timedelta(seconds=QUEUE_WAIT_S_MAX),
    )
    columns = ("user_id", "gpus_requested", "gpus_allocated", "nodes_requested", "node_count", "is_exclusive")
    rows = jobs.order_by("wait_end").values_list(*columns, "eligible_at", "wait_end")[:WAITING_MAX]
    for user, gpus, allocated, nodes, node_count, is_exclusive, since, until in rows.iterator():
        requested = (allocated if gpus is None else gpus) or 0
        yield Waiting(user, requested, nodes or node_count or 1, bool(is_exclusive), since, until)


def waits() -> QuerySet[Any]:
    """The jobs of which Slurm's record shows that they waited."""
    return Job.objects.filter(BY_SITE, eligible_at__isnull=False).annotate(queue=QUEUE, wait_end=WAIT_END)


def changed_waits(since: datetime) -> list[Stretch]:
    """The times, in whole hours, during which jobs waited whose records changed since."""
    jobs = waits().filter(changed_at__gte=since, wait_end__gte=F("eligible_at") + WAITED_MIN).order_by()
    hours: dict[tuple[str, str], set[int]] = defaultdict(set)
    rows = jobs.values_list("cluster", "partition", "eligible_at", "wait_end")
    for cluster, partition, eligible_at, until in rows.iterator():
        first = max(eligible_at, until - WAIT_MAX)
        hours[cluster, partition].update(range(_hour(first), _hour(until) + 1))
    return [Stretch(*where, *ends) for where, some in sorted(hours.items()) for ends in _joined(sorted(some))]


def _hour(at: datetime) -> int:
    return int(at.timestamp() // HOUR_S)


def _joined(hours: Sequence[int]) -> list[tuple[datetime, datetime]]:
    """Sorted hours as beginnings and ends of stretches without a gap."""
    found: list[list[int]] = []
    for hour in hours:
        if found and found[-1][1] == hour:
            found[-1][1] = hour + 1
        else:
            found.append([hour, hour + 1])
    return [
        (datetime.fromtimestamp(first * HOUR_S, UTC), datetime.fromtimestamp(end * HOUR_S, UTC)) for first, end in found
    ]


def holds_within(stretch: Stretch) -> QuerySet[IdleHold]:
    """The runs of a partition that overlap this time."""
    return IdleHold.objects.filter(
        cluster=stretch.cluster,
        partition=stretch.partition,
        ended_at__gt=stretch.since,
        started_at__lt=stretch.until,
    )


def due_holds(now: datetime) -> Iterator[list[int]]:
    """The keys of the runs whose check is due, the longest waiting first, page by page as they are needed."""
    page = due = IdleHold.objects.filter(check_at__lte=now).order_by("check_at", "pk")
    while rows := list(page.values_list("pk", "check_at")[:PAGE_ROWS]):
        yield [pk for pk, _ in rows]
        pk, check_at = rows[-1]
        page = due.filter(Q(check_at__gt=check_at) | Q(check_at=check_at, pk__gt=pk))


def still_due(job_pks: list[int], now: datetime) -> list[int]:
    """Which of these are still to be checked."""
    due = set(IdleHold.objects.filter(pk__in=job_pks, check_at__lte=now).values_list("pk", flat=True))
    return [pk for pk in job_pks if pk in due]


def checks_before(month: date, now: datetime) -> QuerySet[IdleHold]:
    """The runs of a month whose check is due: it is closed after them, unless they fail or take long."""
    start, end = month_ends(month)
    return _due_checks(start, end, now).filter(check_at__gt=now - CLOSES_ANYWAY)


def _due_checks(start: datetime, end: datetime, now: datetime) -> QuerySet[IdleHold]:
    """Without those that failed often: one run that cannot be checked hides nothing of the others."""
    due = Q(checked_at=None) | Q(check_at__lte=now)
    return IdleHold.objects.filter(due, ended_at__gte=start, ended_at__lt=end).exclude(pk__in=failed_often(CHECK))


def idle_hours_of_month(month: date, figures: MonthFigures, now: datetime) -> IdleHours | None:
    """What others waited for in a month of the site, beside its other figures.

    None where it is not known of every run: a check is due, or a judgement is older than these checks. A run whose
    check failed often has its figures from before, and is left out if it was never checked.
    """
    if figures.total.withheld or _due_checks(*month_ends(month), now).exists():
        return None
    sums = IdleSums()
    held = ("job__idle_hold__idle_gpu_hours", "job__idle_hold__wanted_gpu_hours", "job__idle_hold__checked_at")
    for *row, idle, wanted, checked_at in rows_of_month(month, *READ, *held):
        run = SiteRun(*row)
        known = (idle or 0.0, wanted or 0.0) if checked_at else (0.0, 0.0)
        sums.add(run.user, groups_of(run), parts_of(run), *known)
    shown = [{cell.name for cell in figures.tables.get(name, []) if not cell.withheld} for name in DIMENSIONS]
    return sums.figures(shown)


def shown_hold(job_pk: int, reach: Reach) -> IdleHold | None:
    """What others waited for during one run, for who sees all jobs of its owner or project: no shared single run.

    None where nobody waited, or too few people to be shown.
    """
    is_visible = reduce(or_, reach.parts("job__"))
    return IdleHold.objects.filter(is_visible, job=job_pk, is_shown=True, could_start__gt=0).first()
