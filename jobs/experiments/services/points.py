"""Storing what scripts log: every call is one row when it is answered, and a sweep sorts the rows into series.

So a call costs one small insert, however many metrics it has and however often they are logged, and many calls are
committed together (`log_calls`). Reading adds what was not sorted yet, so nothing is late.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime, timedelta
from functools import partial
from math import isnan

from django.db import transaction
from django.db.models import F

from jobs.experiments.limits import METRICS_MAX
from jobs.experiments.models import ExperimentRun, MetricSeries, PointBatch
from jobs.experiments.points import Point, Points, Series, merged, packed, packed_call, unpacked_calls
from jobs.experiments.rules import NoSuchRun, NotAccepted
from jobs.experiments.selectors import DIGEST_COLUMNS, first_moment, series_value
from jobs.experiments.services.following import linked_jobs, settle
from jobs.experiments.services.locks import held_runs
from jobs.experiments.services.runs import RunChange, StatedJob, change_run
from jobs.models import User
from jobs.runs.services import touch_ended_runs
from jobs.work_queue.services import Work, attempt_each

SORTING = "run points"
"""The kind of work under which a failure is recorded; its key is the run's row."""

BATCHES_TOGETHER = 500
HEARD_EVERY = timedelta(seconds=10)
"""So exactly is known when a run was heard last: a row of a run is not written at every call."""


@dataclass(frozen=True)
class LoggedCall:
    """One call of a script: points, parameters and tags for one of its runs.

    `thinned` and `odd_times` count points that were left out of the call, and those that got the time of its arrival.
    """

    user: User
    run_id: str
    received_at: datetime
    points: Sequence[Point] = ()
    params: Mapping[str, str] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    job: StatedJob | None = None
    thinned: int = 0
    odd_times: int = 0

    @property
    def is_plain(self) -> bool:
        """Whether it has points alone."""
        return not (self.params or self.tags or self.job)


def log_calls(calls: Sequence[LoggedCall]) -> list[NotAccepted | None]:
    """Store many calls in one transaction; for each why it was not accepted, None where it was.

    A call is stored as a whole or not at all, and one that is not accepted does not affect the others.
    """
    with transaction.atomic():
        runs = _runs(calls)
        found: list[NotAccepted | None] = []
        stored: list[tuple[ExperimentRun, LoggedCall]] = []
        for call in calls:
            run = runs.get((call.user.pk, call.run_id))
            why = NoSuchRun() if run is None else _texts_stored(call)
            found.append(why)
            if run is not None and why is None:
                stored.append((run, call))
        PointBatch.objects.bulk_create(
            PointBatch(run=run, points=packed_call(call.points), count=len(call.points), received_at=call.received_at)
            for run, call in stored
            if call.points
        )
        _hear(stored)
    return found


def sort_points(limit: int, now: datetime) -> int:
    """Sort the waiting points of up to `limit` runs into their series; how many calls that were."""
    waiting = PointBatch.objects.order_by().values_list("run_id", flat=True).distinct()
    return attempt_each(Work(SORTING, partial(sort_points_of, now=now)), [list(waiting[:limit])], now).done


def sort_points_of(run_pk: int, now: datetime) -> int:
    """Sort the waiting points of one run into their series; how many calls that were."""
    with transaction.atomic():
        run = ExperimentRun.objects.select_for_update(no_key=True).filter(pk=run_pk).first()
        batches = list(PointBatch.objects.filter(run=run_pk).order_by("pk")[:BATCHES_TOGETHER])
        if run is None or not batches:
            return 0
        by_name = unpacked_calls(bytes(batch.points) for batch in batches)
        rows, dropped = _store_series(run, by_name)
        if dropped:
            ExperimentRun.objects.filter(pk=run.pk).update(points_dropped=F("points_dropped") + dropped)
        PointBatch.objects.filter(pk__in=[batch.pk for batch in batches]).delete()
        _begin_with_points(run, rows, now)
        touch_ended_runs(linked_jobs(run), now)
    return len(batches)


def _begin_with_points(run: ExperimentRun, rows: Collection[MetricSeries], now: datetime) -> None:
    """A run began no later than its first point, which may have been logged long afterwards."""
    earliest = first_moment(row.first_ms for row in rows)
    if earliest is not None and earliest < run.started_at:
        run.started_at = earliest
        run.save(update_fields=["started_at"])
        settle(run, now)


def _store_series(run: ExperimentRun, by_name: Mapping[str, Points]) -> tuple[list[MetricSeries], int]:
    """Add these points to the series of a run; these, and how many points are of names beyond the limit, and not
    kept."""
    stored = {row.name: row for row in MetricSeries.objects.filter(run=run, name__in=by_name)}
    room = METRICS_MAX - MetricSeries.objects.filter(run=run).count()
    new = [name for name in by_name if name not in stored]
    left_out = set(new[max(room, 0) :])
    rows = []
    for name, points in by_name.items():
        if name not in left_out:
            row = stored.get(name) or MetricSeries(run=run, name=name)
            _set(row, merged(series_value(row) if row.pk else None, points))
            rows.append(row)
    MetricSeries.objects.bulk_create(row for row in rows if row.pk is None)
    MetricSeries.objects.bulk_update(
        [row for row in rows if row.pk is not None], ("points", *DIGEST_COLUMNS), batch_size=100
    )
    return rows, sum(len(by_name[name]) for name in left_out)


def _set(row: MetricSeries, series: Series) -> None:
    columns = asdict(series.digest)
    columns["last_value"] = None if isnan(series.digest.last_value) else series.digest.last_value
    for name, value in columns.items():
        setattr(row, name, value)
    row.points = packed(series.points)


def _runs(calls: Iterable[LoggedCall]) -> dict[tuple[int, str], ExperimentRun]:
    """The runs of these calls by owner and id: only a run of the caller is found."""
    held = held_runs({call.run_id for call in calls})
    return {(run.owner_id, run.run_id): run for run in held}


def _texts_stored(call: LoggedCall) -> NotAccepted | None:
    """Store the parameters and tags of a call; why they are not accepted, None where they are."""
    if call.is_plain:
        return None
    try:
        with transaction.atomic():
            change = RunChange(params=call.params, tags=call.tags)
            change_run(call.user, call.run_id, change, call.received_at, call.job)
    except NotAccepted as error:
        return error
    return None


def _hear(stored: Collection[tuple[ExperimentRun, LoggedCall]]) -> None:
    """Note that these runs were heard, and what was left out of their calls."""
    latest: dict[int, datetime] = {}
    for run, call in stored:
        if call.received_at - run.heard_at >= HEARD_EVERY:
            latest[run.pk] = max(call.received_at, latest.get(run.pk, call.received_at))
        if call.thinned or call.odd_times:
            counts = {
                "points_thinned": F("points_thinned") + call.thinned,
                "odd_times": F("odd_times") + call.odd_times,
            }
            ExperimentRun.objects.filter(pk=run.pk).update(**counts)
    # Rows that somebody else is writing are left out: they are heard by the next call.
    free = ExperimentRun.objects.filter(pk__in=latest).select_for_update(skip_locked=True, no_key=True)
    for pk in free.values_list("pk", flat=True) if latest else ():
        ExperimentRun.objects.filter(pk=pk).update(heard_at=latest[pk])
