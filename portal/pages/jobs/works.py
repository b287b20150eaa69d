"""The list by work: what the runs that are left add up to, one line a work, read in one query for each part.

Below it the pipelines: works that regularly follow one another, one line each.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.urls import reverse

from analysis.models import WorkPipeline
from analysis.works.selectors import pipelines_within
from jobs.models import Job
from jobs.selectors import Reach, jobs_within
from jobs.work_key import without_trial
from portal.charts.finding_list import jobs_address
from portal.charts.run_classes import SHOWN_NAMES
from portal.charts.work_sums import UNNAMED, Sums, sums_by_work
from portal.pages.jobs.query import JobQuery
from portal.pages.jobs.sorts import JUDGED
from reports.wording import TITLES

PAGE_SIZE = 25

SHOWN_MAX = 20


@dataclass(frozen=True)
class WorkRow:
    """One line: `url` is the page of the work, `jobs_url` its jobs; both empty where nothing names the work.

    `classes` are (name, jobs) in the order of the classes, `finding` is the most frequent first cause, that of
    `finding_jobs`: each job counts under the one that its own line names.
    """

    name: str
    owner: str
    url: str
    jobs_url: str
    sums: Sums
    classes: tuple[tuple[str, int], ...]
    not_analysed: int
    finding: str
    finding_jobs: int


@dataclass(frozen=True)
class WorkPage:
    """One page of the works, and the addresses of the pages around it; `jobs` of all `works` together."""

    rows: list[WorkRow]
    works: int
    jobs: int
    previous: str
    next: str


ORDERS: dict[str, Callable[[Sums], Any]] = {
    "ended": lambda work: (work.last_at is not None, work.last_at.timestamp() if work.last_at else 0.0),
    "wasted": lambda work: work.unused_gpu_hours or 0.0,
    "hours": lambda work: work.used_gpu_hours or 0.0,
    "jobs": lambda work: work.jobs,
}


def work_page(query: JobQuery, number: str) -> WorkPage:
    """This page of the works among the jobs that are asked for, the nearest one where there is no such page."""
    works = list(_sums(query).values())
    works.sort(key=lambda work: (ORDERS[query.choices.order](work), work.latest_pk), reverse=True)
    page = Paginator(works, PAGE_SIZE).get_page(number)
    return WorkPage(
        rows=_rows(query, list(page.object_list)),
        works=len(works),
        jobs=sum(work.jobs for work in works),
        previous=_turned(query, page, -1) if page.has_previous() else "",
        next=_turned(query, page, 1) if page.has_next() else "",
    )


def _turned(query: JobQuery, page: Page, step: int) -> str:
    return f"{query.choices.address}&{urlencode({'page': page.number + step})}"


def _sums(query: JobQuery) -> dict[str, Sums]:
    """All works among the jobs that are asked for, by key."""
    table = JUDGED if query.choices.is_judged else ""
    return sums_by_work(part & query.conditions(table) for part in query.parts(table))


def _rows(query: JobQuery, works: list[Sums]) -> list[WorkRow]:
    """The works as lines, named after their newest runs: one query."""
    latest = jobs_within(query.reach).in_bulk([work.latest_pk for work in works])
    chosen = {name: str(value) for name, value in query.choices.filters.items() if name != "work"}
    return [_row(work, latest[work.latest_pk], chosen) for work in works if work.latest_pk in latest]


def _row(work: Sums, run: Job, chosen: dict[str, str]) -> WorkRow:
    code, jobs = work.first_finding
    return WorkRow(
        name=(without_trial(run.job_name) or f"Job {run.job_id}") if work.key else UNNAMED,
        owner=run.user.username if work.key else "",
        url=reverse("work", args=[work.key]) if work.key else "",
        jobs_url=jobs_address(chosen | {"work": work.key}) if work.key else "",
        sums=work,
        classes=tuple((name, work.classes[key]) for key, name in SHOWN_NAMES.items() if key in work.classes),
        not_analysed=max(work.jobs - work.classes.total(), 0),
        finding=TITLES[code] if code else "",
        finding_jobs=jobs,
    )


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
