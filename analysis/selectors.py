"""Reading judgements, and which runs wait for one."""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import NamedTuple

import msgspec
from django.conf import settings
from django.db.models import Max, Q, QuerySet

from analysis.assess import Assessment, assess
from analysis.comparable import ComparableRun, Throughput
from analysis.due.selectors import unjudged_runs
from analysis.efficiency import Efficiency
from analysis.facts import job_facts
from analysis.findings import Finding
from analysis.marks.selectors import position_of, swept_until
from analysis.models import Feedback, JobEfficiency
from analysis.progress.logged import LoggedRun
from analysis.rightsizing import Recommendation
from analysis.savings import Savings
from analysis.thresholds import LIMITS, RULES_VERSION
from jobs.experiments.selectors import logged_in
from jobs.models import Job
from jobs.records import ENDED_STATES
from jobs.selectors import counted_senders, record_of
from jobs.work_key import is_trial
from jobs.work_queue.selectors import set_aside
from metrics.selectors import (
    CLOCKS_APART,
    NEVER_MEASURED,
    changed_keys,
    host_peaks_gb,
    is_thinned,
    last_measured,
    revisions,
    run_metrics,
)
from metrics.series import RunMetrics
from wire.work_names import TRIAL_MARK

SCAN_SIZE = 500
CHANGES, RULES = "changes", f"rules {RULES_VERSION}"
"""The names of the marks of two sweeps: of changed runs, and of runs judged by earlier rules."""

JUDGEMENT = "judgement"
"""The kind of work under which a failed judgement is recorded; its key is the job's row."""

COMMITTED_LATE = timedelta(minutes=10)
COMPARABLE_MAX = 20
"""The last runs of some work show how it runs now; older ones may have been a different program."""
COMPARED_COLUMNS = (
    *("cluster", "job_id", "attempt", "gpus_allocated", "walltime_used_s"),
    *("is_told_by_owner", "user__username", "state", "efficiency__throughput_unit", "efficiency__throughput_per_s"),
    "efficiency__busy_cores",
)
OTHER_CLOCK = "the time of day: the nodes' clock differs by more than a day from Slurm's"

DUE_COLUMNS = (
    *("cluster", "job_id", "attempt", "nodes", "node_count", "ended_at", "changed_at", "revision", "is_told_by_owner"),
    *("user__username", "efficiency__job_revision", "efficiency__metrics_revision", "efficiency__rules_version"),
)
EFFICIENCY_COLUMNS = tuple(field.name for field in fields(Efficiency))
ADVICE_COLUMNS = tuple(field.name for field in fields(Recommendation))


class Due(NamedTuple):
    """A run that waits for a judgement, and when its record or its measurements changed last."""

    job: Job
    changed_at: datetime


def due_jobs(now: datetime) -> Iterator[Job]:
    """Ended, started, settled GPU runs whose newest data has not been judged, the latest change first."""
    return (due.job for page in due_pages(now) for due in page)


def due_pages(now: datetime, since: datetime | None = None) -> Iterator[list[Due]]:
    """The same runs, page by page; with `since` those that changed after it, by the indexes of what changed."""
    changed = _judgeable() if since is None else _judgeable().filter(changed_at__gte=since)
    yield from _due_pages(changed, now)
    if since is not None:
        measured = list({job_id for _, job_id, _ in changed_keys(since)})
        for first in range(0, len(measured), SCAN_SIZE):
            runs = _judgeable().filter(job_id__in=measured[first : first + SCAN_SIZE], changed_at__lt=since)
            yield from _due_pages(runs, now)


def still_due(job_pks: Collection[int], now: datetime) -> list[int]:
    """Which of these runs, in their order, wait for a judgement by the present rules."""
    due = {job.pk for job, _ in _due(_judgeable().filter(pk__in=job_pks), now, is_judged_by_these_rules)}
    return [pk for pk in job_pks if pk in due]


def _judgeable() -> QuerySet[Job]:
    runs = Job.objects.filter(state__in=ENDED_STATES, started_at__isnull=False).exclude(gpus_allocated=0)
    return runs.select_related("efficiency", "user").only(*DUE_COLUMNS)


def _due_pages(runs: QuerySet[Job], now: datetime) -> Iterator[list[Due]]:
    """Page by page from the latest change on: each is read when it is needed."""
    page = runs = runs.order_by("-changed_at", "-pk")
    while rows := list(page[:SCAN_SIZE]):
        if due := _due(rows, now, is_judged):
            yield due
        if len(rows) < SCAN_SIZE:
            return
        last = rows[-1]
        page = runs.filter(changed_at__lte=last.changed_at).exclude(changed_at=last.changed_at, pk__gte=last.pk)


def _due(rows: Iterable[Job], now: datetime, is_done: Callable[[Job, int], bool]) -> list[Due]:
    rows, due = list(rows), []
    seen = revisions([job.job_id for job in rows])
    for job in rows:
        measured = seen.get((job.cluster, job.job_id, job.attempt), NEVER_MEASURED)
        final_nodes = sum(measured.final_nodes.get(sender, 0) for sender in counted_senders(job))
        if _is_settled(job, final_nodes, now) and not is_done(job, measured.revision):
            due.append(Due(job, max(job.changed_at, measured.changed_at or job.changed_at)))
    return due


def changed_since() -> datetime | None:
    """From when on changes have to be checked; None where none were checked yet.

    Somewhat before the mark: a run may wait for its nodes, and what is committed late has an earlier time.
    """
    at = swept_until(CHANGES)
    return at and at - timedelta(seconds=settings.SETTLE_SECONDS) - COMMITTED_LATE


def last_change() -> datetime | None:
    """When the last record or summary arrived or changed; None where there is none."""
    moments = [Job.objects.aggregate(at=Max("changed_at"))["at"], last_measured()]
    return max(filter(None, moments), default=None)


def judged_by_older_rules(limit: int) -> tuple[list[int], int | None]:
    """Runs among the next `limit` judgements, the newest first, that other rules made; and where the next ones begin.

    None when all of them have been checked.
    """
    position = position_of(RULES)
    rows = JobEfficiency.objects.order_by("-pk")
    if position is not None:
        rows = rows.filter(pk__lt=position)
    seen = list(rows.values_list("pk", "job", "rules_version")[:limit])
    return [job for _, job, version in seen if version != RULES_VERSION], seen[-1][0] if seen else None


def waiting_since(now: datetime, limit: int) -> tuple[int, datetime | None]:
    """How many settled runs, counted up to `limit`, wait for a judgement of their record, and since when.

    Counted from the mark of the sweep of changed runs; without what was set aside.
    """
    waiting = unjudged_runs(now, changed_since()).exclude(pk__in=set_aside(JUDGEMENT)).order_by("changed_at")
    first = waiting.values_list("changed_at", flat=True).first()
    return waiting.values("pk")[:limit].count(), first


def metrics_revision(job: Job) -> int:
    """The revision of the measurements of this run; 0 where nothing arrived."""
    key = (job.cluster, job.job_id, job.attempt)
    return revisions([job.job_id]).get(key, NEVER_MEASURED).revision


def measurements_of(job: Job) -> RunMetrics:
    """The measurements of this run that count: those of the site or of its owner."""
    metrics = run_metrics((job.cluster, job.job_id, job.attempt), counted_senders(job))
    if _is_at_another_time(metrics, job):
        return replace(metrics, not_measured=(*metrics.not_measured, OTHER_CLOCK))
    return metrics


def _is_at_another_time(metrics: RunMetrics, job: Job) -> bool:
    """Whether the nodes report measuring long before or after the run according to Slurm."""
    if metrics.started_at is None or job.started_at is None or job.ended_at is None:
        return False
    before_s = (job.started_at - metrics.started_at).total_seconds()
    after_s = (metrics.started_at - job.ended_at).total_seconds()
    return max(before_s, after_s) > CLOCKS_APART.total_seconds()


def has_lost_series(job: Job) -> bool:
    """Whether `measurements_of` this run is thinned, for callers that read nothing else of it."""
    return is_thinned((job.cluster, job.job_id, job.attempt), counted_senders(job))


def assessment(job: Job) -> Assessment:
    """The stored judgement of this run beside the facts it was made from.

    Raises JobEfficiency.DoesNotExist while the run has not been judged.
    """
    row = JobEfficiency.objects.get(job=job)
    return Assessment(
        rules_version=row.rules_version,
        facts=job_facts(record_of(job), measurements_of(job)),
        efficiency=msgspec.convert({name: getattr(row, name) for name in EFFICIENCY_COLUMNS}, Efficiency),
        findings=tuple(
            msgspec.convert(found, Finding) for found in row.findings.values("code", "confidence", "evidence")
        ),
        recommendations=tuple(
            msgspec.convert(advice, Recommendation) for advice in row.recommendations.values(*ADVICE_COLUMNS)
        ),
        savings=msgspec.convert(row.savings, Savings) if row.savings else None,
        not_measured=tuple(row.not_measured),
    )


def fresh_assessment(job: Job) -> Assessment | None:
    """The judgement of this run by the present rules, without storing it; None where it keeps its judgement.

    That is so once its use over time, which was known when it was judged, is no longer stored. The judged rows
    themselves show that: they may be deleted at any moment.
    """
    measured = measurements_of(job)
    if measured.is_thinned and getattr(job, "efficiency", None) is not None:
        return None
    return assess(record_of(job), measured, past=comparable_runs(job), logged=logged_runs(job))


def logged_runs(job: Job) -> tuple[LoggedRun, ...]:
    """What scripts logged in this job; no query where `logged_anything` of it was read with its row, and is false."""
    if not getattr(job, "has_logged", True):
        return ()
    return tuple(LoggedRun(params, series) for params, series in logged_in(job))


def judged_metrics(job: Job, measured: RunMetrics | None = None) -> RunMetrics:
    """The measurements that a judgement of this run rests on: without what is set aside, NaN for a dropped value.

    `measured` are those of `measurements_of`, where the caller has read them.
    """
    metrics = measurements_of(job) if measured is None else measured
    facts = job_facts(record_of(job), metrics)
    return replace(metrics, nodes=facts.nodes, gpus=facts.gpus, hosts=facts.hosts, series=facts.series)


def would_change(efficiency: JobEfficiency) -> tuple[str, bool]:
    """The class that the present rules give a judged run, and whether its findings differ from the stored ones."""
    fresh = fresh_assessment(efficiency.job)
    if fresh is None:
        return efficiency.efficiency_class, False
    stored = {found.code for found in efficiency.findings.all()}
    return fresh.efficiency.efficiency_class.value, {found.code.value for found in fresh.findings} != stored


def comparable_runs(job: Job) -> tuple[ComparableRun, ...]:
    """The last completed, counted runs of the same work that ended before this one, the latest first; with those that
    their time limit ended and that logged throughput.

    A key of work is of one person, project and cluster. `jobs.services.record_job` makes a run due again when one of
    these arrives after it was judged.
    """
    if not job.work_key or job.ended_at is None:
        return ()
    runs = Job.objects.filter(
        work_key=job.work_key,
        user=job.user_id,
        ended_at__lt=job.ended_at,
        gpus_allocated__gt=0,
        walltime_used_s__gte=LIMITS.short_job_s,
    ).order_by("-ended_at", "-pk")
    # Of a run that its time limit ended only the throughput can be compared.
    runs = runs.filter(Q(state="COMPLETED") | Q(state="TIMEOUT", efficiency__throughput_per_s__gt=0))
    # Short trials with less input say nothing about a whole run, nor the reverse.
    marked = Q(job_name__contains=TRIAL_MARK)
    runs = runs.filter(marked if is_trial(job.job_name) else ~marked)
    last = list(runs.select_related("user", "efficiency").only(*COMPARED_COLUMNS)[:COMPARABLE_MAX])
    peaks_gb: dict[tuple[str, int, int], float] = {}
    for senders in {counted_senders(run) for run in last}:
        counted = [run.job_id for run in last if counted_senders(run) == senders]
        peaks_gb |= host_peaks_gb(job.cluster, counted, senders)
    return tuple(
        ComparableRun(
            run.gpus_allocated or 0,
            run.walltime_used_s or 0.0,
            peaks_gb.get((run.cluster, run.job_id, run.attempt)),
            busy_cores=run.efficiency.busy_cores if hasattr(run, "efficiency") else None,
            throughput=_throughput(run),
            is_cut=run.state == "TIMEOUT",
        )
        for run in last
    )


def _throughput(run: Job) -> Throughput | None:
    judged = getattr(run, "efficiency", None)
    if judged is None or not judged.throughput_per_s:
        return None
    return Throughput(judged.throughput_unit, judged.throughput_per_s)


def is_judged(job: Job, revision: int) -> bool:
    """Whether the run was judged on its current record and this revision of its measurements."""
    efficiency = getattr(job, "efficiency", None)
    return efficiency is not None and (
        efficiency.job_revision == job.revision and efficiency.metrics_revision == revision
    )


def is_judged_by_these_rules(job: Job, revision: int) -> bool:
    """Whether judging the run again would change nothing: neither its data nor the rules are newer."""
    return is_judged(job, revision) and job.efficiency.rules_version == RULES_VERSION


def judgement_of(job: Job) -> JobEfficiency | None:
    """The stored judgement of a run the caller may see; None while there is none."""
    return JobEfficiency.objects.filter(job=job).first()


def feedback_of(job: Job) -> QuerySet[Feedback]:
    """People's answers about the findings of a run: everybody who may see the run may read them."""
    return Feedback.objects.filter(job=job).select_related("user").order_by("given_at", "pk")


def _is_settled(job: Job, final_nodes: int, now: datetime) -> bool:
    """Whether every node has sent its last summary, or has had the time that the site allows."""
    all_nodes = job.node_count or len(job.nodes)
    # A difference: nothing can be added to a time at the end of the calendar. An end in the future is not waited for.
    since = now - min(job.ended_at or job.changed_at, job.changed_at)
    return bool(all_nodes and final_nodes >= all_nodes) or since >= timedelta(seconds=settings.SETTLE_SECONDS)
