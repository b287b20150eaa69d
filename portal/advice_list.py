"""The advice of many jobs as a short list: its title, what it would have saved, and the latest job as an example."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from analysis.history.selectors import BestAdvice
from analysis.models import RecommendationRow
from jobs.sbatch import OptionChange
from portal.links import job_url
from reports.advice_titles import ADVICE_TITLES


@dataclass(frozen=True)
class ListedAdvice:
    """One kind of advice; `diff` is how it read for the job at `url`."""

    title: str
    jobs: int
    potential_gpu_hours: float
    diff: tuple[str, ...]
    job_id: int
    url: str


def advice_list(found: Sequence[BestAdvice]) -> list[ListedAdvice]:
    """One query for the examples of all of them."""
    rows = RecommendationRow.objects.filter(efficiency__job__in=[advice.latest_pk for advice in found])
    examples = {(row.efficiency.job_id, row.kind): row for row in rows.select_related("efficiency__job")}
    listed = []
    for advice in found:
        row = examples[advice.latest_pk, advice.kind]
        changes = msgspec.convert(row.changes, tuple[OptionChange, ...])
        run = row.efficiency.job
        diff = tuple(str(change) for change in changes)
        title = ADVICE_TITLES[advice.basis]
        listed.append(ListedAdvice(title, advice.jobs, advice.potential_gpu_hours, diff, run.job_id, job_url(run)))
    return listed
