"""What to do next: the works whose advice states the largest savings, with the new lines, and the causes to fix."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from django.db.models import Q

from analysis.comparable import is_hint
from analysis.history.costs import CostlyCause
from analysis.history.periods import Period
from analysis.history.selectors import costly_causes_in, savings_of_works
from analysis.models import JobEfficiency
from education.lesson import LessonContent
from education.selectors import current_lessons
from portal.charts.work_requests import WorkRequest, advice_lines, job_label, work_requests, work_url
from reports.advice import ADVICE_TITLES
from reports.request_diff import DiffLine, added_lines, diff_lines
from reports.services.links import job_url
from reports.wording import TITLES

GPU_HOURS_MIN = 1.0
"""What would save less in a month is not worth a place on the first screen."""

LONGER_TIME = frozenset({"more_time", "own_longer_runs"})
"""Advice on the time limit that fixes a cause; other time limits save no GPU-hours."""


@dataclass(frozen=True)
class Suggestion:
    """One thing to do for one work: `lines` change the request of the run at `url`, or `lesson` explains the cause.

    `gpu_hours` are what exactly these lines would have saved in `jobs` of its jobs, or, for a cause, all that its jobs
    left unused (None where not measured); `is_primary` for the one request that the page offers first.
    """

    name: str
    title: str
    jobs: int
    gpu_hours: float | None
    url: str
    work_url: str = ""
    lines: tuple[DiffLine, ...] = ()
    lesson: str = ""
    code: str = ""
    is_primary: bool = False


@dataclass(frozen=True)
class ToDo:
    """What changes a request and states a saving, and causes to fix, for which no job's page states one.

    `changed_gpu_hours` are stated savings that later runs of the same work have changed already: they are in no sum.
    """

    requests: tuple[Suggestion, ...]
    causes: tuple[Suggestion, ...]
    changed_gpu_hours: float = 0.0

    @property
    def is_changed_shown(self) -> bool:
        """Whether what later runs have changed is worth a line."""
        return self.changed_gpu_hours >= GPU_HOURS_MIN

    @property
    def total_gpu_hours(self) -> float:
        """The stated savings alone: what a cause took is not what fixing it is known to save."""
        return sum(suggestion.gpu_hours or 0.0 for suggestion in self.requests)


def to_do(part: Q, period: Period, limit: int) -> ToDo:
    """At most so many of each, most GPU-hours first; each run counts in one of them at most.

    The number of queries is bounded by `limit`.
    """
    found = savings_of_works(part, period)
    savings = [saving for saving in found.works[: 2 * limit] if saving.gpu_hours >= GPU_HOURS_MIN]
    costly = [cause for cause in costly_causes_in(part, period, limit) if cause.lost_gpu_hours >= GPU_HOURS_MIN]
    # A request that stays as it is, because other runs needed more, is nothing to do.
    found_requests = work_requests(part, savings, period.end)
    changing = [each for each in found_requests if each.is_change and each.gpu_hours >= GPU_HOURS_MIN]
    requests, causes = [_request(request) for request in changing[:limit]], _causes(costly)
    causes.sort(key=lambda cause: -(cause.gpu_hours or 0.0))
    first = next((suggestion for suggestion in [*requests, *causes] if suggestion.lines), None)
    shown = [tuple(replace(one, is_primary=one is first) for one in listed) for listed in (requests, causes)]
    return ToDo(shown[0], shown[1], found.changed_gpu_hours)


def _request(request: WorkRequest) -> Suggestion:
    return Suggestion(
        job_label(request.run),
        request.title,
        request.jobs,
        request.gpu_hours,
        url=job_url(request.run),
        work_url=work_url(request.run),
        lines=_lines(request.diff, request.block),
    )


def _lines(changes: Sequence[str], block: Sequence[str]) -> tuple[DiffLine, ...]:
    """The whole suggested request, or its changes, as lines of a script."""
    return added_lines(block) if block else diff_lines(changes)


def _causes(causes: Sequence[CostlyCause]) -> list[Suggestion]:
    rows = JobEfficiency.objects.filter(job__in=[cause.latest_pk for cause in causes]).select_related("job")
    latest = {row.job_id: row for row in rows.prefetch_related("recommendations")}
    lessons = current_lessons()
    shown = [cause for cause in causes if cause.latest_pk in latest]
    return [_cause(cause, latest[cause.latest_pk], lessons.get(cause.code)) for cause in shown]


def _cause(cause: CostlyCause, judged: JobEfficiency, lesson: LessonContent | None) -> Suggestion:
    """The new lines where a request fixes the cause, as one without GPUs or with more time does; else the lesson."""
    advised, run = list(judged.recommendations.all()), judged.job
    proven = [row for row in advised if not is_hint(row.evidence)]
    fixing = [row for row in proven if row.kind != "walltime" or row.basis in LONGER_TIME]
    return Suggestion(
        name=job_label(run),
        title=ADVICE_TITLES[fixing[0].basis] if fixing else TITLES[cause.code],
        jobs=cause.jobs,
        gpu_hours=cause.wasted_gpu_hours,
        url=job_url(run),
        work_url=work_url(run),
        lines=_lines(*advice_lines(advised)) if fixing else (),
        lesson=lesson.micro if lesson else "",
        code=cause.code.value if lesson else "",
    )
