"""One's own works, and what the runs of one of them say together."""

from __future__ import annotations

from typing import Any

import msgspec
from django.db.models import Q
from django.http import Http404
from django.urls import reverse
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.history.periods import last_days
from analysis.rollups.selectors import site_now
from analysis.works.patterns import patterns
from analysis.works.selectors import past_runs_of_work
from jobs.hardware import clusters
from jobs.models import Job
from jobs.selectors import jobs_within, reach_of, visible_jobs, works_named
from jobs.work_key import without_trial
from portal.access import person
from portal.api.asked import DAYS, DAYS_MAX, asked_number, asked_text
from portal.api.work_answers import FindingOfWork, WorkAnswer, WorkDetailAnswer, WorkList
from portal.api.work_detail import (
    best_request_of,
    failed_runs,
    kind_of_work,
    open_advice,
    saved_of,
    scaling_of,
    typical_run,
    unused_runs,
)
from portal.charts.work_sums import Sums, sums_by_work
from reports.wording import TITLES

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
        user = person(request)
        visible = visible_jobs(user)
        latest = visible.filter(work_key=key).order_by("-ended_at", "-pk").first()
        if latest is None:
            raise Http404("There is no such work here.")
        period = last_days(site_now(), WINDOW_DAYS)
        owner = latest.user_id
        runs = past_runs_of_work(visible.filter(user=owner, ended_at__gte=period.start), key)
        whole = Q(user=owner, work_key=key, ended_at__gte=period.start)
        sums = sums_by_work([whole]).get(key, Sums(key))
        found = patterns(runs)
        answer = WorkDetailAnswer(
            **msgspec.structs.asdict(_work(sums, latest)),
            owner=latest.user.username,
            is_own=owner == user.pk,
            typical=typical_run(runs, found),
            kind=kind_of_work(found),
            without_gpu_use=unused_runs(runs),
            failures=failed_runs(runs),
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
    return WorkAnswer(
        key=sums.key,
        name=without_trial(run.job_name),
        cluster=run.cluster,
        project=run.project.name,
        jobs=sums.jobs,
        last_ended_at=sums.last_at,
        used_gpu_hours=used,
        unused_gpu_hours=unused,
        classes=dict(sums.classes),
        finding=FindingOfWork(code.value, TITLES[code], jobs) if code else None,
        url=reverse("work", args=[sums.key]),
        **whole,
    )
