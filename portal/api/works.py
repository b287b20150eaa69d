"""One's own works, and what the runs of one of them say together."""

from collections.abc import Sequence
from typing import Any

import msgspec
from django.db.models import Q
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.history.periods import Period, last_days
from analysis.history.selectors import savings_of_works
from analysis.outcomes.selectors import saved_by_work
from analysis.rollups.selectors import site_now
from analysis.scaling import GpuCount, Scaling, scaling
from analysis.works.failure_sizes import failure_sizes
from analysis.works.failures import failures
from analysis.works.patterns import Patterns, patterns, typical_runs, without_use
from analysis.works.runs import PastRun
from analysis.works.selectors import advice_of, past_runs_of_work
from jobs.hardware import clusters
from jobs.models import Job
from jobs.selectors import jobs_within, reach_of, works_named
from jobs.work_key import without_trial
from portal.access import person, work_and_latest
from portal.api.asked import DAYS, DAYS_MAX, asked_number, asked_text
from portal.api.insights import SAVINGS_RUNS_MAX
from portal.api.work_answers import (
    AdviceAnswer,
    BestRequestAnswer,
    FailureAnswer,
    FindingOfWork,
    KindAnswer,
    Range,
    SavedAnswer,
    ScalingAnswer,
    ScalingPoint,
    TypicalRun,
    UnusedAnswer,
    WorkAnswer,
    WorkDetailAnswer,
    WorkList,
    range_of,
)
from portal.charts.best_known import best_known, deciding_trial, origin_of, without_time
from portal.charts.typical_run import failure_list, typical, unused_text
from portal.charts.work_requests import work_requests
from portal.charts.work_sums import Sums, sums_by_work
from reports.from_rows import struct_from
from reports.services.links import job_url
from reports.wording import TITLES
from reports.work_texts import best_request_text, saved_text, scaling_text

WORKS, WORKS_MAX = 50, 200
WINDOW_DAYS = 365


class Works(APIView):
    """`GET /api/v1/works/`: one's own works with a run in the last `?days=`, the latest first."""

    def get(self, request: Request) -> Response:
        user, now = person(request), site_now()
        days = asked_number(request, "days", DAYS, DAYS_MAX)
        limit = asked_number(request, "limit", WORKS, WORKS_MAX)
        since, text = last_days(now, days).start, asked_text(request, "q")
        own = Q(user=user.pk) & ~Q(work_key="")
        if text:
            own &= Q(job_name__icontains=text) | Q(work_key__in=works_named(user, text, clusters()))
        sums = sums_by_work([own & Q(ended_at__gte=since)])
        shown = sorted(sums.values(), key=lambda work: (work.last_at or now, work.latest_pk), reverse=True)[:limit]
        latest = jobs_within(reach_of(user)).in_bulk([work.latest_pk for work in shown])
        works = [_work(work, latest[work.latest_pk]) for work in shown if work.latest_pk in latest]
        return Response(msgspec.to_builtins(WorkList(days, works)))


class WorkDetail(APIView):
    """`GET /api/v1/works/{key}/`: a work for its owner and the PI of its project; 404 for everybody else."""

    def get(self, request: Request, key: str) -> Response:
        of_owner, latest = work_and_latest(request, key)
        period = last_days(site_now(), WINDOW_DAYS)
        owner = latest.user_id
        runs = past_runs_of_work(of_owner.filter(ended_at__gte=period.start), key)
        whole = Q(user=owner, work_key=key, ended_at__gte=period.start)
        sums = sums_by_work([whole]).get(key, Sums(key))
        found = patterns(runs)
        answer = WorkDetailAnswer(
            **msgspec.structs.asdict(_work(sums, latest)),
            owner=latest.user.username,
            is_own=owner == person(request).pk,
            typical=typical_run(runs, found),
            kind=kind_of_work(found),
            without_gpu_use=unused_runs(runs),
            failures=[FailureAnswer(text) for text in failure_list(failures(runs), failure_sizes(runs)).common],
            best_request=best_request_of(runs),
            advice=open_advice(owner, key, period),
            scaling=scaling_of(runs),
            saved=saved_of(owner, key),
        )
        return Response(msgspec.to_builtins(answer))


def _work(sums: Sums, run: Job) -> WorkAnswer:
    """The sums of a work, named after its newest run."""
    used, unused = sums.used_gpu_hours, sums.unused_gpu_hours
    whole: dict[str, Any] = {"gpu_hours": None, "use_percent": None}
    if used is not None and unused is not None:
        whole = {"gpu_hours": used + unused, "use_percent": 100 * used / (used + unused) if used + unused else None}
    code, jobs = sums.first_finding
    return struct_from(
        WorkAnswer,
        sums,
        name=without_trial(run.job_name),
        cluster=run.cluster,
        project=run.project.name,
        last_ended_at=sums.last_at,
        classes=dict(sums.classes),
        finding=FindingOfWork(code.value, TITLES[code], jobs) if code else None,
        url=reverse("work", args=[sums.key]),
        **whole,
    )


def typical_run(runs: Sequence[PastRun], found: Patterns) -> TypicalRun:
    """Each quantity of the completed, counted runs with its range."""
    shown = typical_runs(runs)
    return TypicalRun(
        runs=len(shown),
        gpus_requested=range_of(run.gpus for run in shown),
        gpus_used=range_of(run.effective_gpus for run in shown),
        use_percent=range_of(run.avg_gpu_util for run in shown),
        gpu_memory_gb=range_of(run.peak_gpu_mem_gb for run in shown),
        memory_gb=range_of(run.host_peak_gb for run in shown),
        cores_used=range_of(run.busy_cores for run in shown),
        run_time_s=range_of(run.elapsed_s for run in shown),
        walltime_requested_s=range_of(run.walltime_s for run in shown),
        success_rate=found.success_fraction,
        completed=found.completed,
        decided=found.decided,
    )


def kind_of_work(found: Patterns) -> KindAnswer | None:
    """What limits the work, with the numbers behind it; None where use was not measured."""
    shown, kind = typical(found), found.kind
    if kind is None:
        return None
    return KindAnswer(kind.kind.value if kind.kind else None, shown.kind, shown.kind_text, list(shown.evidence))


def unused_runs(runs: Sequence[PastRun]) -> UnusedAnswer | None:
    """The runs that used no GPU at all; None where every one used its GPUs."""
    found = without_use(runs)
    if found is None:
        return None
    return UnusedAnswer(found.runs, found.of, found.gpu_hours, found.is_over, unused_text(runs))


def best_request_of(runs: Sequence[PastRun]) -> BestRequestAnswer | None:
    """The request of the work; None where none is known."""
    best = best_known(runs, advice_of)
    if best is None:
        return None
    run = best.run
    address = job_url(Job(cluster=run.cluster, job_id=run.job_id, attempt=run.attempt))
    return BestRequestAnswer(
        list(best.options),
        f"{run.cluster}/{run.job_id}",
        address,
        best_request_text(origin_of(best)),
        best.is_suggested,
    )


def open_advice(owner: int, key: str, period: Period) -> AdviceAnswer | None:
    """What the request of the work changes and would have saved; None where later runs leave nothing to save."""
    own = Q(user=owner)
    savings = savings_of_works(own, period, SAVINGS_RUNS_MAX, [key]).works
    for each in work_requests(own, savings, period.end):
        if each.is_change:
            address = job_url(each.run)
            return AdviceAnswer(each.title, list(each.diff), list(each.block), each.gpu_hours, each.jobs, address)
    return None


def scaling_of(runs: Sequence[PastRun]) -> ScalingAnswer:
    """Run time, speed and use by number of GPUs."""
    scaled = scaling(runs)
    return ScalingAnswer(
        points=[_point(scaled, count) for count in scaled.counts],
        knee_gpus=scaled.knee.gpus if scaled.knee else None,
        is_noisy=scaled.is_noisy,
        text=scaling_text(scaled, without_time(deciding_trial(runs, scaled))),
        throughput_unit=scaled.unit,
    )


def _point(scaled: Scaling, count: GpuCount) -> ScalingPoint:
    efficiency = count.efficiency_fraction
    return ScalingPoint(
        gpus=count.gpus,
        n=count.runs,
        run_time_s=Range(count.runs, count.typical_s, count.fastest_s, count.slowest_s),
        use_percent=count.avg_gpu_util,
        speedup=None if efficiency is None else efficiency * count.gpus / scaled.smallest.gpus,
        efficiency=efficiency,
        gpu_hours=count.gpu_hours,
        throughput_per_s=count.per_s,
    )


def saved_of(owner: int, key: str) -> SavedAnswer | None:
    """What following advice brought; None where no run followed any."""
    saved = saved_by_work(owner, key)
    if not saved.runs:
        return None
    gpu_hours = saved.saved_gpu_hours if saved.compared_runs else None
    return SavedAnswer(gpu_hours, saved.runs, saved_text(saved.runs, saved.compared_runs, saved.saved_gpu_hours))
