"""What one's own runs of some weeks say together: what would save most, what repeats, what advice brought."""

from collections.abc import Collection, Sequence
from datetime import date

import msgspec
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.findings import FindingCode
from analysis.history.periods import DAYS_OFFERED, Period, last_days
from analysis.history.run_sums import Days
from analysis.history.selectors import UnusedWork, savings_of_works, works_without_gpu_use
from analysis.history.sums import frequent_findings
from analysis.models import JobEfficiency
from analysis.outcomes.selectors import SavedSum, given_and_followed, saved_by, saved_by_work
from analysis.rollups.selectors import Part, days_of, site_now
from analysis.works.selectors import judgements_with_advice
from jobs.models import User
from portal.access import person
from portal.api.asked import DAYS, asked_choice, asked_works
from portal.api.check_answers import WorkLink
from portal.api.insight_answers import (
    Brought,
    InsightAnswer,
    MistakeAnswer,
    OthersAnswer,
    PeriodAnswer,
    PracticeAnswer,
    Repeats,
    WithoutUse,
    WouldSave,
)
from portal.charts.practices import of_others
from portal.charts.work_requests import WorkRequest, advice_lines, job_label, work_requests, work_url
from reports.advice import ADVICE_TITLES
from reports.from_rows import struct_from
from reports.insight_texts import UNEXPLAINED, brought_text, no_use_text, period_sentences, repeats_text
from reports.services.links import job_url
from reports.wording import TITLES
from reports.work_texts import saved_text

WORKS_MAX, FINDINGS_MAX = 10, 8
REPEATS_MIN = 2
SAVINGS_RUNS_MAX = 4000
"""The latest counted runs whose savings are added up: two runs an hour for 90 days, with a limit for automation."""

WORKS_SUMMED_MAX = 20
"""A name stands for a work in each project and cluster of a person; of more than so many the others are left out."""


class Insights(APIView):
    """`GET /api/v1/insights/`: of one's own runs of `?days=`, or of the work in `?work=` alone."""

    def get(self, request: Request) -> Response:
        user = person(request)
        days = int(asked_choice(request, "days", [str(days) for days in DAYS_OFFERED], str(DAYS)))
        works = asked_works(request, user)
        period = last_days(site_now(), days)
        own = Q(user=user.pk)
        open_now = savings_of_works(own, period, SAVINGS_RUNS_MAX, works)
        sums = days_of(_parts(user, works), period)
        # Beyond these nothing is listed that their reports' own figures could differ from.
        saving = [_saving(each) for each in work_requests(own, open_now.works[:WORKS_MAX], period.end)]
        total = sum(each.gpu_hours for each in saving) + sum(each.gpu_hours for each in open_now.works[WORKS_MAX:])
        runs = sums.total(period).jobs
        of_runs = SAVINGS_RUNS_MAX if runs > SAVINGS_RUNS_MAX else None
        unused = works_without_gpu_use(own, period, works)
        idle = sum(each.runs for each in unused), sum(each.gpu_hours for each in unused)
        answer = InsightAnswer(
            period=PeriodAnswer(days, period.start, period.end),
            without_gpu_use=_without_use(unused[:WORKS_MAX]),
            would_save=saving,
            repeats=_repeats(sums, period, runs),
            brought=_brought(user, works),
            others=_others(),
            sentences=period_sentences(days, runs, total, open_now.changed_gpu_hours, of_runs, idle),
        )
        return Response(msgspec.to_builtins(answer))


def _without_use(works: Sequence[UnusedWork]) -> list[WithoutUse]:
    """These works with the advice of their latest run without GPU use: two queries."""
    judged = judgements_with_advice([work.latest_pk for work in works])
    return [_unused(work, judged[work.latest_pk]) for work in works if work.latest_pk in judged]


def _unused(work: UnusedWork, judged: JobEfficiency) -> WithoutUse:
    run, advised = judged.job, [] if work.is_over else list(judged.recommendations.all())
    diff, block = advice_lines(advised)
    return struct_from(
        WithoutUse,
        work,
        work=WorkLink(run.work_key, job_label(run), work_url(run)),
        text=no_use_text(work.runs, work.of, work.gpu_hours, is_over=work.is_over),
        title=ADVICE_TITLES[advised[0].basis] if advised else "",
        diff=list(diff),
        request=list(block),
        run_url=job_url(run),
        lesson_url=reverse("lesson", args=[FindingCode.NO_GPU_USE.value]),
    )


def _others() -> OthersAnswer:
    """What is shown to everyone alike: one query."""
    found = of_others()
    return OthersAnswer(
        practices=[
            struct_from(
                PracticeAnswer,
                each.practice.figures,
                since=date.fromisoformat(each.practice.figures.since),
                until=each.practice.until,
                text=each.text,
            )
            for each in found.practices
        ],
        mistakes=[
            struct_from(
                MistakeAnswer,
                each.figures,
                of=each.figures.of_works,
                text=each.text,
                lesson_url=reverse("lesson", args=[each.figures.code]),
            )
            for each in found.mistakes
        ],
        month=found.month,
    )


def _parts(user: User, works: Collection[str] | None) -> list[Part]:
    if works is None:
        return [Part(user=user.pk)]
    return [Part(user=user.pk, work_key=key) for key in sorted(works)[:WORKS_SUMMED_MAX]]


def _saving(request: WorkRequest) -> WouldSave:
    return struct_from(
        WouldSave,
        request,
        work=WorkLink(request.run.work_key, job_label(request.run), work_url(request.run)),
        runs=request.jobs,
        diff=list(request.diff),
        request=list(request.block),
        run_url=job_url(request.run),
    )


def _repeats(sums: Days, period: Period, runs: int) -> list[Repeats]:
    """The findings that several counted runs have, the most unused GPU-hours first."""
    found = [row for row in frequent_findings(sums, period) if row.jobs >= REPEATS_MIN and row.code in TITLES]
    return [
        Repeats(
            code=row.code,
            title=TITLES[FindingCode(row.code)],
            runs=row.jobs,
            of=runs,
            unused_gpu_hours=row.wasted_gpu_hours,
            text=repeats_text(_repeated(FindingCode(row.code)), row.jobs, runs),
            lesson_url=reverse("lesson", args=[row.code]),
        )
        for row in found[:FINDINGS_MAX]
    ]


def _repeated(code: FindingCode) -> str:
    return UNEXPLAINED if code is FindingCode.LOW_USE_UNEXPLAINED else TITLES[code]


def _brought(user: User, works: Collection[str] | None) -> Brought | None:
    """None where no advice was given yet."""
    given, followed = given_and_followed(user.pk, works)
    if not given:
        return None
    saved = saved_by(Q(user=user.pk)) if works is None else _of_works(user, works)
    gpu_hours = saved.saved_gpu_hours if saved.compared_runs else None
    since = timezone.localdate(saved.since) if saved.since else None
    said = saved_text(saved.runs, saved.compared_runs, saved.saved_gpu_hours) if saved.runs else ""
    text = brought_text(followed, given, said, since)
    return Brought(gpu_hours, saved.runs, followed, given, text, saved.compared_runs, since)


def _of_works(user: User, works: Collection[str]) -> SavedSum:
    """What following advice on several works saved: one query each."""
    sums = [saved_by_work(user.pk, key) for key in sorted(works)[:WORKS_SUMMED_MAX]]
    return SavedSum(
        sum(each.runs for each in sums),
        sum(each.compared_runs for each in sums),
        sum(each.saved_gpu_hours for each in sums),
        min((each.since for each in sums if each.since), default=None),
    )
