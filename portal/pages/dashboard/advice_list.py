"""What would save most as a short list: requests to change and causes to fix, with the latest job as an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from analysis.history.costs import CostlyCause
from analysis.history.selectors import BestAdvice
from analysis.models import RecommendationRow
from education.selectors import current_lessons
from jobs.models import Job
from jobs.sbatch import OptionChange
from reports.advice import ADVICE_TITLES, sbatch_lines
from reports.services.links import job_url
from reports.wording import TITLES


@dataclass(frozen=True)
class ListedAdvice:
    """One thing to do: `diff` is how it read for the job at `url`, or `lesson` says how to fix the cause `code`.

    Where the user's own options were not known, `diff` is the whole block to write.
    """

    title: str
    jobs: int
    gpu_hours: float
    job_id: int
    url: str
    diff: tuple[str, ...] = ()
    lesson: str = ""
    code: str = ""


def advice_list(found: Sequence[BestAdvice], causes: Sequence[CostlyCause], limit: int) -> list[ListedAdvice]:
    """The most GPU-hours first; the number of queries does not depend on how many there are."""
    listed = [*_requests(found), *_causes(causes)]
    return sorted(listed, key=lambda advice: -advice.gpu_hours)[:limit]


def _requests(found: Sequence[BestAdvice]) -> list[ListedAdvice]:
    rows = RecommendationRow.objects.filter(efficiency__job__in=[advice.latest_pk for advice in found])
    examples = {(row.efficiency.job_id, row.kind): row for row in rows.select_related("efficiency__job")}
    listed = []
    for advice in found:
        row = examples[advice.latest_pk, advice.kind]
        changes = msgspec.convert(row.changes, tuple[OptionChange, ...])
        run = row.efficiency.job
        diff = tuple(str(change) for change in changes) or sbatch_lines(row.request)
        title = ADVICE_TITLES[advice.basis]
        listed.append(ListedAdvice(title, advice.jobs, advice.potential_gpu_hours, run.job_id, job_url(run), diff))
    return listed


def _causes(causes: Sequence[CostlyCause]) -> list[ListedAdvice]:
    examples = Job.objects.in_bulk([cause.latest_pk for cause in causes])
    lessons = current_lessons()
    listed = []
    for cause in causes:
        run, lesson = examples[cause.latest_pk], lessons.get(cause.code)
        listed.append(
            ListedAdvice(
                title=TITLES[cause.code],
                jobs=cause.jobs,
                gpu_hours=cause.lost_gpu_hours,
                job_id=run.job_id,
                url=job_url(run),
                lesson=lesson.micro if lesson else "",
                code=cause.code.value if lesson else "",
            )
        )
    return listed
