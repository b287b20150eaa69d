"""The list by work: what the runs that are left add up to, one line a work, read in one query for each part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from django.core.paginator import Page, Paginator
from django.db.models import Count, F, Max, Q, Sum
from django.urls import reverse

from analysis.findings import FindingCode
from jobs.models import Job
from jobs.selectors import jobs_within
from portal.charts.job_addresses import work_jobs_address
from portal.charts.run_classes import SHOWN_NAMES
from portal.pages.jobs.classes import SHOWN_CLASS
from portal.pages.jobs.query import JobQuery
from portal.pages.jobs.sorts import JUDGED
from reports.wording import TITLES

PAGE_SIZE = 25
UNNAMED = "Jobs without a name of their own"
COUNTED = Q(efficiency__uncounted_reason="")
USED = F("efficiency__gpu_hours") - F("efficiency__wasted_gpu_hours")


@dataclass
class Sums:
    """The runs of one work; hours are of the counted ones that were measured, None where there is none of them.

    `last_at` is None where no run has ended; `latest_pk` is the newest run.
    """

    key: str
    jobs: int = 0
    last_at: datetime | None = None
    latest_pk: int = 0
    used_gpu_hours: float | None = None
    unused_gpu_hours: float | None = None
    classes: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)


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
    """All works by key: classes and findings are few, so the database adds up and little is read.

    The runs are counted without their judgements, and the judgements are found by their own owner and project: so
    indexes alone answer both.
    """
    table = JUDGED if query.choices.is_judged else ""
    found: dict[str, Sums] = {}
    for part, judged_part in zip(query.parts(table), query.parts(JUDGED), strict=True):
        runs = Job.objects.filter(part, query.conditions(table)).order_by().values_list("work_key")
        for key, *row in runs.annotate(Count("pk"), Max("ended_at"), Max("pk")):
            _count(found.setdefault(key, Sums(key)), *row)
        judged = Job.objects.filter(part, judged_part, query.conditions(JUDGED)).order_by()
        kinds = judged.annotate(shown_class=SHOWN_CLASS).values_list(
            "work_key", "shown_class", "efficiency__finding_codes"
        )
        hours = {
            "used": Sum(USED, filter=COUNTED),
            "unused": Sum("efficiency__wasted_gpu_hours", filter=COUNTED),
        }
        for key, *row in kinds.annotate(Count("pk"), **hours):
            _add(found.setdefault(key, Sums(key)), *row)
    return found


def _count(work: Sums, jobs: int, last_at: datetime | None, latest_pk: int) -> None:
    work.jobs += jobs
    work.last_at = max(filter(None, (work.last_at, last_at)), default=None)
    work.latest_pk = max(work.latest_pk, latest_pk)


def _add(work: Sums, shown_class: str, codes: str, jobs: int, used: float | None, unused: float | None) -> None:
    if used is not None and unused is not None:
        work.used_gpu_hours = (work.used_gpu_hours or 0.0) + used
        work.unused_gpu_hours = (work.unused_gpu_hours or 0.0) + unused
    work.classes[shown_class] += jobs
    for code in codes.split()[:1]:
        work.findings[code] += jobs


def _rows(query: JobQuery, works: list[Sums]) -> list[WorkRow]:
    """The works as lines, named after their newest runs: one query."""
    latest = jobs_within(query.reach).in_bulk([work.latest_pk for work in works])
    chosen = {name: str(value) for name, value in query.choices.filters.items() if name != "work"}
    return [_row(work, latest[work.latest_pk], chosen) for work in works if work.latest_pk in latest]


def _row(work: Sums, run: Job, chosen: dict[str, str]) -> WorkRow:
    known = [(code, jobs) for code, jobs in work.findings.items() if code in TITLES]
    code, jobs = max(known, key=lambda pair: (pair[1], pair[0]), default=("", 0))
    return WorkRow(
        name=(run.job_name or f"Job {run.job_id}") if work.key else UNNAMED,
        owner=run.user.username if work.key else "",
        url=reverse("work", args=[work.key]) if work.key else "",
        jobs_url=work_jobs_address(work.key, chosen) if work.key else "",
        sums=work,
        classes=tuple((name, work.classes[key]) for key, name in SHOWN_NAMES.items() if key in work.classes),
        not_analysed=max(work.jobs - work.classes.total(), 0),
        finding=TITLES[FindingCode(code)] if code else "",
        finding_jobs=jobs,
    )
