"""Arrays as one row each: the task that stands for them, and what their tasks add up to."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum
from django.db.models.lookups import Exact
from django.urls import reverse

from jobs.models import Job
from portal.charts.run_classes import SHOWN_CLASS, SHOWN_NAMES

SAME_ARRAY = ("cluster", "array_job_id", "user_id", "project_id")


@dataclass(frozen=True)
class Tasks:
    """The tasks of an array that are shown; `classes` are (name, number), `mean_util` is by GPU-hours."""

    count: int
    classes: tuple[tuple[str, int], ...]
    unjudged: int
    gpu_hours: float | None
    unused_gpu_hours: float | None
    mean_util: float | None
    url: str


def stands_for_its_array(asked_for: QuerySet[Job]) -> Q:
    """Whether a run is no task of an array, or the one of it that ended last among those `asked_for`.

    Two conditions, one for tasks that have ended and one for others, so that an index answers each with one look.
    """
    tasks = asked_for.filter(cluster=OuterRef("cluster"), array_job_id=OuterRef("array_job_id"))
    # As differences: PostgreSQL would search all runs of the person in the project for an array otherwise.
    for whose in ("user_id", "project_id"):
        tasks = tasks.filter(Exact(F(whose) - OuterRef(whose), 0))
    later = Q(ended_at__gt=OuterRef("ended_at")) | Q(pk__gt=OuterRef("pk"))
    ended_later = tasks.filter(ended_at__gte=OuterRef("ended_at")).filter(later)
    ended_or_newer = tasks.filter(Q(ended_at__isnull=False) | Q(pk__gt=OuterRef("pk")))
    return (
        Q(array_job_id__isnull=True)
        | Q(ended_at__isnull=False) & ~Exists(ended_later)
        | Q(ended_at__isnull=True) & ~Exists(ended_or_newer)
    )


def tasks_of(runs: Sequence[Job], asked_for: QuerySet[Job]) -> dict[int, Tasks]:
    """The tasks that each of these runs stands for, by its key: one query. A lone task stands for itself only."""
    arrays = {run.array_job_id for run in runs if run.array_job_id is not None}
    summed = (
        asked_for.filter(array_job_id__in=arrays)
        .order_by()
        .annotate(shown_class=SHOWN_CLASS)
        .values_list(*SAME_ARRAY, "shown_class")
        .annotate(
            Count("pk"),
            hours=Sum("efficiency__gpu_hours"),
            weighted=Sum(F("efficiency__gpu_hours") * F("efficiency__avg_gpu_util")),
            unused=Sum("efficiency__wasted_gpu_hours"),
            weight=Sum("efficiency__gpu_hours", filter=Q(efficiency__avg_gpu_util__isnull=False)),
        )
    )
    rows: dict[tuple[object, ...], list[tuple]] = defaultdict(list)
    for row in summed if arrays else ():
        rows[row[: len(SAME_ARRAY)]].append(row[len(SAME_ARRAY) :])
    found = {run.pk: _tasks(run, rows[tuple(getattr(run, name) for name in SAME_ARRAY)]) for run in runs}
    return {pk: tasks for pk, tasks in found.items() if tasks.count > 1}


def array_url(run: Job) -> str:
    """The Jobs page with the tasks of this run's array."""
    return f"{reverse('my-jobs')}?{urlencode({'array': f'{run.cluster}/{run.array_job_id}'})}"


def _tasks(run: Job, rows: Sequence[tuple]) -> Tasks:
    """The rows hold, for each class: its name, tasks, GPU-hours, those times the use, unused ones, measured ones."""
    counts = {name: count for name, count, *_ in rows}
    hours, weighted, unused, weight = (_sum(row[column] for row in rows) for column in range(2, 6))
    return Tasks(
        count=sum(counts.values()),
        classes=tuple((name, counts[key]) for key, name in SHOWN_NAMES.items() if key in counts),
        unjudged=counts.get(None, 0),
        gpu_hours=hours,
        unused_gpu_hours=unused,
        mean_util=(weighted or 0.0) / weight if weight else None,
        url=array_url(run),
    )


def _sum(values: Iterable[float | None]) -> float | None:
    """The sum of what is known; None where nothing is."""
    known = [value for value in values if value is not None]
    return sum(known) if known else None
