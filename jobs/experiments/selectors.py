"""Reading experiments and runs: whose a person may see, what they may change, and the points of their metrics."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime, timedelta
from math import isnan, nan
from typing import Any

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce

from jobs.experiments.models import Artifact, Experiment, ExperimentRun, MetricSeries, PointBatch, RunJob
from jobs.experiments.points import Digest, Series, merged, unpacked, unpacked_calls
from jobs.experiments.rules import NoSuchExperiment, NoSuchRun
from jobs.experiments.status import OPEN, Status
from jobs.models import Job, Membership, User
from jobs.queue.selectors import fresh_readings, listed_in
from jobs.selectors import led_projects

DIGEST_COLUMNS = tuple(Digest.__dataclass_fields__)
BATCHES_MAX = 2000
"""Calls that were not sorted into their series yet and are read with them: more than a sweep leaves."""

LATE_TOGETHER = 200
"""So many runs whose points wait are read at once."""

CLAIMS_KEPT = timedelta(days=14)
"""So long a record of a stated job is waited for; accounting that is imported later links nothing more."""

RUNS_JUDGED_MAX, SERIES_JUDGED_MAX = 200, 400
"""So many runs and metrics of a job are read for its judgement, each metric up to 24 kB."""

SYSTEM_METRICS = "system/"
"""The names that MLflow's clients give to what they measure of the machine every ten seconds."""

CHANGED_WITHIN = timedelta(days=2)


def visible_experiments(user: User) -> QuerySet[Experiment]:
    """A person's own experiments, those of projects that they lead, and those shared in projects they belong to."""
    member = Membership.objects.filter(user=user).values("project")
    mine = Q(owner=user) | Q(project__in=led_projects(user)) | Q(is_shared=True, project__in=member)
    return Experiment.objects.filter(mine).select_related("owner", "project")


def visible_runs(user: User) -> QuerySet[ExperimentRun]:
    """The runs of those experiments."""
    return ExperimentRun.objects.filter(experiment__in=visible_experiments(user).values("pk")).select_related(
        "experiment__owner", "experiment__project", "owner"
    )


def own_experiments(user: User) -> QuerySet[Experiment]:
    """The experiments that this person may change."""
    return Experiment.objects.filter(owner=user).select_related("owner", "project")


def own_experiment(user: User, pk: int) -> Experiment:
    """One of these. Raises NoSuchExperiment."""
    found = own_experiments(user).filter(pk=pk).first()
    if found is None:
        raise NoSuchExperiment
    return found


def own_runs(user: User) -> QuerySet[ExperimentRun]:
    """The runs that this person may change."""
    return ExperimentRun.objects.filter(owner=user).select_related("experiment__owner", "experiment__project", "owner")


def own_run(user: User, run_id: str) -> ExperimentRun:
    """One of these. Raises NoSuchRun."""
    found = own_runs(user).filter(run_id=run_id).first()
    if found is None:
        raise NoSuchRun
    return found


def series_of(run: ExperimentRun, names: Collection[str] | None = None) -> dict[str, Series]:
    """The metrics of a run by name, of `names` alone if given, with what has not been sorted into them yet."""
    rows = MetricSeries.objects.filter(run=run)
    if names is not None:
        rows = rows.filter(name__in=names)
    found = {row.name: series_value(row) for row in rows}
    for name, points in _waiting([run.pk]).get(run.pk, {}).items():
        if names is None or name in names:
            found[name] = merged(found.get(name), points)
    return dict(sorted(found.items()))


def digests_of(runs: Iterable[ExperimentRun], names: Collection[str] | None = None) -> dict[int, dict[str, Digest]]:
    """What is exact of each metric, of `names` alone if given, by run and name, without the points: three queries at
    most for all of these."""
    pks = [run.pk for run in runs]
    found: dict[int, dict[str, Digest]] = {pk: {} for pk in pks}
    series = MetricSeries.objects.filter(run__in=pks)
    if names is not None:
        series = series.filter(name__in=names)
    for run_pk, name, *columns in series.values_list("run_id", "name", *DIGEST_COLUMNS):
        found[run_pk][name] = _digest(dict(zip(DIGEST_COLUMNS, columns, strict=True)))
    for run_pk, late in _late_digests(pks, names).items():
        found[run_pk] |= late
    return found


def began_at(run: ExperimentRun) -> datetime:
    """When a run began: as it was stated, or with its first point, whether that is sorted yet or not."""
    first = first_moment(digest.first_ms for digest in digests_of([run])[run.pk].values())
    return run.started_at if first is None else min(first, run.started_at)


def first_moment(times_ms: Iterable[int]) -> datetime | None:
    """The earliest of these Unix times; None where there is none."""
    least = min(times_ms, default=None)
    return None if least is None else datetime.fromtimestamp(least / 1000, UTC)


def metric_names(keys: Collection[int]) -> Counter[str]:
    """How many of the runs of these keys have a metric of each name, sorted or not."""
    rows = MetricSeries.objects.filter(run__in=keys).order_by().values_list("name").annotate(runs=Count("pk"))
    found = Counter(dict(rows))
    waiting = _waiting(keys)
    stored = set(MetricSeries.objects.filter(run__in=waiting).values_list("run_id", "name")) if waiting else set()
    found.update(name for pk, by_name in waiting.items() for name in by_name if (pk, name) not in stored)
    return found


def keys_by_metric(runs: QuerySet[ExperimentRun], name: str, column: str, *, is_backward: bool) -> list[int]:
    """The keys of all these runs by this value of a metric, the least first; those that have none come last."""
    series = MetricSeries.objects.filter(run__in=runs.order_by().values("pk"), name=name)
    values = dict(series.values_list("run_id", column)) | late_values(runs, name, column)
    keys = sorted(runs.order_by().values_list("pk", flat=True), reverse=True)
    known = [(values[pk], pk) for pk in keys if values.get(pk) is not None]
    known.sort(key=lambda row: row[0], reverse=is_backward)
    return [pk for _, pk in known] + [pk for pk in keys if values.get(pk) is None]


def late_values(runs: QuerySet[ExperimentRun], name: str, column: str) -> dict[int, float | None]:
    """This value of a metric in those of these runs of which points of it are not sorted yet; None for NaN."""
    waiting = PointBatch.objects.filter(run__in=runs.order_by().values("pk")).order_by()
    keys, found = list(waiting.values_list("run_id", flat=True).distinct()), {}
    for first in range(0, len(keys), LATE_TOGETHER):
        for pk, late in _late_digests(keys[first : first + LATE_TOGETHER], [name]).items():
            if name in late:
                value = getattr(late[name], column)
                found[pk] = None if value is None or isnan(value) else value
    return found


def _late_digests(run_pks: Collection[int], names: Collection[str] | None) -> dict[int, dict[str, Digest]]:
    """What is exact of the metrics of which points wait to be sorted; it alone needs the points that they are added
    to."""
    waiting = _waiting(run_pks)
    wanted = {
        pk: {name: points for name, points in by_name.items() if names is None or name in names}
        for pk, by_name in waiting.items()
    }
    asked = {name for by_name in wanted.values() for name in by_name}
    rows = MetricSeries.objects.filter(run__in=wanted, name__in=asked) if asked else ()
    stored = {(row.run_id, row.name): series_value(row) for row in rows}
    return {
        pk: {name: merged(stored.get((pk, name)), points).digest for name, points in by_name.items()}
        for pk, by_name in wanted.items()
    }


def _waiting(run_pks: Collection[int]) -> dict[int, dict[str, Any]]:
    calls: dict[int, list[bytes]] = {}
    rows = PointBatch.objects.filter(run__in=run_pks).order_by("pk").values_list("run_id", "points")
    for run_pk, points in rows[:BATCHES_MAX]:
        calls.setdefault(run_pk, []).append(bytes(points))
    return {run_pk: unpacked_calls(batches) for run_pk, batches in calls.items()}


def series_value(row: MetricSeries) -> Series:
    """A stored series as a value."""
    return Series(unpacked(bytes(row.points)), _digest({name: getattr(row, name) for name in DIGEST_COLUMNS}))


def _digest(columns: Mapping[str, Any]) -> Digest:
    last_value = columns["last_value"]
    return Digest(**{**columns, "last_value": nan if last_value is None else last_value})


def jobs_of(runs: Iterable[ExperimentRun]) -> dict[int, list[RunJob]]:
    """What each run's script stated of its jobs, with their records where they are known, the latest last: one
    query."""
    found: dict[int, list[RunJob]] = {}
    rows = RunJob.objects.filter(run__in=[run.pk for run in runs]).select_related(
        "linked_job__user", "linked_job__project"
    )
    for row in rows.order_by("stated_at", "pk"):
        found.setdefault(row.run_id, []).append(row)
    return found


def runs_of_job(job: Job) -> QuerySet[ExperimentRun]:
    """The runs that were in this job, in the order of their beginnings: always of its owner."""
    linked = RunJob.objects.filter(run=OuterRef("pk"), linked_job=job)
    return ExperimentRun.objects.filter(Exists(linked), owner=job.user_id).order_by("started_at", "pk")


def logged_anything() -> Exists:
    """Whether anything was logged in a job, for a query of jobs."""
    return Exists(RunJob.objects.filter(linked_job=OuterRef("pk")))


def logged_in(job: Job) -> list[tuple[dict[str, str], dict[str, Series]]]:
    """The parameters and metrics of the runs that were in this job, without what is not sorted yet or was measured by
    a client's own timer: two queries. Of very many the runs that began first, and the metrics with most points."""
    return _logged(runs_of_job(job))


def logged_while_running(owner_pk: int, cluster: str, job_id: int) -> list[tuple[dict[str, str], dict[str, Series]]]:
    """The same of the runs whose scripts stated that they are in this job, which still runs and has no record."""
    stated = RunJob.objects.filter(
        run=OuterRef("pk"), job_id=job_id, cluster__in=("", cluster), linked_job__isnull=True
    )
    runs = ExperimentRun.objects.filter(Exists(stated), owner=owner_pk)
    return _logged(runs.order_by("started_at", "pk"))


def _logged(of_job: QuerySet[ExperimentRun]) -> list[tuple[dict[str, str], dict[str, Series]]]:
    runs = dict(of_job.values_list("pk", "params")[:RUNS_JUDGED_MAX])
    found: dict[int, dict[str, Series]] = {pk: {} for pk in runs}
    rows = MetricSeries.objects.filter(run__in=found).exclude(name__startswith=SYSTEM_METRICS)
    for row in rows.order_by("-count", "pk")[:SERIES_JUDGED_MAX] if found else ():
        found[row.run_id][row.name] = series_value(row)
    return [(runs[pk], series) for pk, series in found.items()]


def artifacts_of(run: ExperimentRun) -> QuerySet[Artifact]:
    """The files of a run by path, without the text of the kept ones."""
    return Artifact.objects.filter(run=run).defer("text").order_by("path")


def unlinked_with_record(now: datetime) -> QuerySet[RunJob]:
    """Stated jobs that wait for a link, of which there is a record, or a later attempt than is linked."""
    linked = RunJob.objects.filter(run=OuterRef("run"), job_id=OuterRef("job_id"), linked_job__isnull=False)
    last = linked.order_by("-linked_job__attempt").values("linked_job__attempt")[:1]
    recorded = Job.objects.filter(
        job_id=OuterRef("job_id"), user=OuterRef("run__owner"), attempt__gt=Coalesce(OuterRef("last_attempt"), -1)
    )
    waiting = RunJob.objects.filter(linked_job__isnull=True, stated_at__gte=now - CLAIMS_KEPT)
    is_anywhere, is_there = Q(cluster="") & Q(Exists(recorded)), Exists(recorded.filter(cluster=OuterRef("cluster")))
    return waiting.annotate(last_attempt=Subquery(last)).filter(is_anywhere | Q(is_there))


def open_runs() -> QuerySet[ExperimentRun]:
    """The runs whose status may change with time alone."""
    return ExperimentRun.objects.filter(status__in=sorted(OPEN))


def lost_in_queue(now: datetime) -> QuerySet[Any]:
    """The keys of lost runs one of whose stated jobs is in the queue, as it was read lately."""
    waiting = RunJob.objects.filter(run__status=Status.LOST, linked_job__isnull=True, stated_at__gte=now - CLAIMS_KEPT)
    return waiting.filter(_in_queue(fresh_readings(now))).values_list("run_id", flat=True).distinct()


def left_the_queue(read_at: Mapping[str, datetime], now: datetime) -> QuerySet[RunJob]:
    """Stated jobs without a record that are in none of these queues, read at these times, and are due to be asked for.

    A job that was stated after a reading was in the queue then, or will be in the next one.
    """
    stated = Q(*(Q(cluster__in=("", name), stated_at__lt=at) for name, at in read_at.items()), _connector=Q.OR)
    waiting = RunJob.objects.filter(stated, linked_job__isnull=True, stated_at__gte=now - CLAIMS_KEPT)
    return waiting.filter(Q(ask_at__isnull=True) | Q(ask_at__lte=now)).exclude(_in_queue(read_at))


def _in_queue(clusters: Collection[str]) -> Q:
    """Whether a stated job is in one of these queues as a job of the run's owner."""
    listed = listed_in(clusters).filter(job_id=OuterRef("job_id"), user=OuterRef("run__owner"))
    return Q(Exists(listed), cluster="") | Q(Exists(listed.filter(cluster=OuterRef("cluster"))))


def runs_of_changed_jobs(now: datetime) -> QuerySet[ExperimentRun]:
    """Runs whose status was decided with an older record of their job than there is."""
    changed = Job.objects.filter(changed_at__gte=now - CHANGED_WITHIN).values("pk")
    return ExperimentRun.objects.filter(run_jobs__linked_job__in=changed).exclude(
        job_revision=F("run_jobs__linked_job__revision")
    )
