"""Reading judgements, and which runs wait for one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, replace
from datetime import datetime, timedelta
from itertools import islice

import msgspec
from django.conf import settings
from django.db.models import Count, Q, QuerySet

from analysis.assess import Assessment, assess
from analysis.comparable import ComparableRun
from analysis.efficiency import Efficiency
from analysis.facts import job_facts
from analysis.feedback import Answers, answers
from analysis.findings import Finding
from analysis.models import Feedback, JobEfficiency
from analysis.rightsizing import Recommendation
from analysis.savings import Savings
from analysis.thresholds import LIMITS
from jobs.models import Job
from jobs.records import ENDED_STATES
from jobs.selectors import record_of
from metrics.selectors import changed_keys, host_peaks_gb, revisions, run_metrics
from metrics.series import RunMetrics

SCAN_SIZE = 500
NEVER_MEASURED = (0, 0)
COMPARABLE_MAX = 20
"""The last runs of some work tell how it runs now; older ones may have been another program."""
EFFICIENCY_COLUMNS = tuple(field.name for field in fields(Efficiency))
ADVICE_COLUMNS = tuple(field.name for field in fields(Recommendation))


def efficiencies(jobs: QuerySet[Job]) -> QuerySet[JobEfficiency]:
    """The judgements of these jobs: pass what `visible_jobs` returned."""
    return JobEfficiency.objects.filter(job__in=jobs)


def due_jobs(now: datetime, since: datetime | None = None) -> Iterator[Job]:
    """Ended, started, settled GPU runs whose newest data has not been judged; with `since` only those changed after it.

    The short look back keeps a frequent sweep cheap; a sweep without `since` finds whatever an outage left behind.
    """
    runs = Job.objects.filter(state__in=ENDED_STATES, started_at__isnull=False).exclude(gpus_allocated=0)
    if since is not None:
        measured = {job_id for _, job_id, _ in changed_keys(since)}
        runs = runs.filter(Q(changed_at__gte=since) | Q(job_id__in=measured))
    scan = runs.select_related("efficiency").order_by("pk").iterator(chunk_size=SCAN_SIZE)
    while chunk := list(islice(scan, SCAN_SIZE)):
        seen = revisions([job.job_id for job in chunk])
        for job in chunk:
            revision, final_nodes = seen.get((job.cluster, job.job_id, job.attempt), NEVER_MEASURED)
            if _is_settled(job, final_nodes, now) and not is_judged(job, revision):
                yield job


def metrics_revision(job: Job) -> int:
    """The revision of the measurements of this run; 0 where nothing arrived."""
    key = (job.cluster, job.job_id, job.attempt)
    return revisions([job.job_id]).get(key, NEVER_MEASURED)[0]


def assessment(job: Job) -> Assessment:
    """The stored judgement of this run beside the facts it was made from.

    Raises JobEfficiency.DoesNotExist while the run has not been judged.
    """
    row = JobEfficiency.objects.get(job=job)
    return Assessment(
        rules_version=row.rules_version,
        facts=job_facts(record_of(job), run_metrics((job.cluster, job.job_id, job.attempt))),
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


def fresh_assessment(job: Job) -> Assessment:
    """What the present rules say of this run, stored nowhere."""
    metrics = run_metrics((job.cluster, job.job_id, job.attempt))
    return assess(record_of(job), metrics, past=comparable_runs(job))


def judged_metrics(job: Job) -> RunMetrics:
    """The measurements that a judgement of this run rests on: without what is set aside, NaN for a dropped value."""
    metrics = run_metrics((job.cluster, job.job_id, job.attempt))
    facts = job_facts(record_of(job), metrics)
    return replace(metrics, nodes=facts.nodes, gpus=facts.gpus, hosts=facts.hosts, series=facts.series)


def would_change(efficiency: JobEfficiency) -> tuple[str, bool]:
    """The class that the present rules give a judged run, and whether its findings would be others than the stored."""
    fresh = fresh_assessment(efficiency.job)
    stored = {found.code for found in efficiency.findings.all()}
    return fresh.efficiency.efficiency_class.value, {found.code.value for found in fresh.findings} != stored


def comparable_runs(job: Job) -> tuple[ComparableRun, ...]:
    """The last completed, counted runs of the same work that ended before this one, the latest first.

    A key of work is of one person, project and cluster. `jobs.services.record_job` makes a run due again when one of
    these arrives after it was judged.
    """
    if not job.work_key or job.ended_at is None:
        return ()
    runs = Job.objects.filter(
        work_key=job.work_key,
        user=job.user_id,
        state="COMPLETED",
        ended_at__lt=job.ended_at,
        gpus_allocated__gt=0,
        walltime_used_s__gte=LIMITS.short_job_s,
    ).order_by("-ended_at", "-pk")
    last = list(runs.values_list("gpus_allocated", "walltime_used_s", "job_id", "attempt")[:COMPARABLE_MAX])
    peaks_gb = host_peaks_gb(job.cluster, [job_id for _, _, job_id, _ in last]) if last else {}
    return tuple(
        ComparableRun(gpus, elapsed_s, peaks_gb.get((job.cluster, job_id, attempt)))
        for gpus, elapsed_s, job_id, attempt in last
    )


def is_judged(job: Job, revision: int) -> bool:
    """Whether the run was judged on its present record and this revision of its measurements."""
    efficiency = getattr(job, "efficiency", None)
    return efficiency is not None and (
        efficiency.job_revision == job.revision and efficiency.metrics_revision == revision
    )


def judgement_of(job: Job) -> JobEfficiency | None:
    """The stored judgement of a run the caller may see; None while there is none."""
    return JobEfficiency.objects.filter(job=job).first()


def feedback_of(job: Job) -> QuerySet[Feedback]:
    """What people said about the findings of a run: whoever may see the run may read it."""
    return Feedback.objects.filter(job=job).select_related("user").order_by("given_at", "pk")


def feedback_sums() -> list[Answers]:
    """What all people together said of each finding under each version of the rules, small groups withheld."""
    counted = Feedback.objects.order_by().values_list("code", "rules_version", "user")
    right, wrong = (Count("pk", filter=Q(is_right=is_right)) for is_right in (True, False))
    return answers(counted.annotate(right=right, wrong=wrong))


def _is_settled(job: Job, final_nodes: int, now: datetime) -> bool:
    """Whether every node has sent its last summary, or has had the time that a site grants it."""
    all_nodes = job.node_count or len(job.nodes)
    settled_at = (job.ended_at or job.changed_at) + timedelta(seconds=settings.SETTLE_SECONDS)
    return bool(all_nodes and final_nodes >= all_nodes) or settled_at <= now
