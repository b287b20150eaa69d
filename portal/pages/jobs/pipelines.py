"""The pipelines below the list by work: works that regularly follow one another, one line each."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.urls import reverse

from analysis.models import WorkPipeline
from analysis.works.selectors import pipelines_within
from jobs.selectors import Reach, jobs_within

SHOWN_MAX = 20


@dataclass(frozen=True)
class PipelineRow:
    """`works` are (name of the latest job, page of the work), in the order in which they run."""

    works: tuple[tuple[str, str], ...]
    owner: str
    sums: WorkPipeline

    @property
    def unused_fraction(self) -> float | None:
        return self.sums.wasted_gpu_hours / self.sums.gpu_hours if self.sums.gpu_hours else None


def pipeline_rows(reach: Reach, now: datetime) -> list[PipelineRow]:
    """The pipelines that a person sees, each with all its works still there: two queries."""
    found = pipelines_within(reach, now, SHOWN_MAX)
    latest = jobs_within(reach).in_bulk([pk for row in found for pk in row.latest]) if found else {}
    return [
        PipelineRow(
            tuple(
                (latest[pk].job_name or f"Job {latest[pk].job_id}", reverse("work", args=[key]))
                for key, pk in zip(row.work_keys, row.latest, strict=True)
            ),
            row.user.username,
            row,
        )
        for row in found
        if all(pk in latest for pk in row.latest)
    ]
