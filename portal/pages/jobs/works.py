"""The list by work: what the runs that are left add up to, one line a work, read in one query for each part."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.urls import reverse

from jobs.models import Job
from jobs.selectors import jobs_within
from jobs.work_key import without_trial
from portal.charts.job_addresses import work_jobs_address
from portal.charts.run_classes import SHOWN_NAMES
from portal.charts.work_sums import Sums, sums_by_work
from portal.pages.jobs.query import JobQuery
from portal.pages.jobs.sorts import JUDGED
from reports.wording import TITLES

PAGE_SIZE = 25
UNNAMED = "Jobs without a name of their own"


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
        jobs_url=work_jobs_address(work.key, chosen) if work.key else "",
        sums=work,
        classes=tuple((name, work.classes[key]) for key, name in SHOWN_NAMES.items() if key in work.classes),
        not_analysed=max(work.jobs - work.classes.total(), 0),
        finding=TITLES[code] if code else "",
        finding_jobs=jobs,
    )
