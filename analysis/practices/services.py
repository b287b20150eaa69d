"""Closing months: what many works did together is added up once, and never again."""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime
from functools import partial

import msgspec

from analysis.findings import FindingCode
from analysis.outcomes.following import OF_KIND
from analysis.practices.figures import HALF, Change, MonthPractices, WorkFindings, mistake_figures, practice_figures
from analysis.practices.models import PracticeMonth
from analysis.practices.selectors import (
    ProgramOf,
    first_day_of,
    months_to_close,
    work_findings,
    works_advised,
    works_halved,
    works_of_people,
)
from analysis.site.selectors import month_ends, next_month
from jobs.failures.services import Work, attempt_each

CLOSE_MONTH = "month of practices"
KINDS = (HALF, *OF_KIND)


def close_months(now: datetime, programs: Callable[[], ProgramOf]) -> int:
    """Store what may be shown of every month whose advice is added up, the oldest first; how many months.

    `programs` tells programs from the names of jobs; it is read where a month is due.
    """
    due = [int(f"{month:%Y%m}") for month in months_to_close()]
    if not due:
        return 0
    closing = partial(_close, now=now, program_of=programs())
    return attempt_each(Work(CLOSE_MONTH, closing, is_recurring=True), [due], now).done


def _close(key: int, now: datetime, program_of: ProgramOf) -> int:
    month = date(key // 100, key % 100, 1)
    if PracticeMonth.objects.filter(first_day=month).exists():
        return 0
    since = {kind: first_day_of(kind, month) for kind in KINDS}
    first, until = min(since.values()), next_month(month)
    changes: dict[str, list[Change]] = {
        kind: [change for at, change in found if at >= month_ends(since[kind])[0]]
        for kind, found in works_advised(first, until, program_of).items()
    }
    findings: list[WorkFindings] = []
    halved: list[Change] = []
    start, end = month_ends(since[HALF])[0], month_ends(month)[1]
    for works in works_of_people(since[HALF], until):
        findings += work_findings(works, month)
        halved += [change for at, change in works_halved(works, program_of) if start <= at < end]
    changes[HALF] = halved
    figures = MonthPractices(
        practices=[
            each for kind in KINDS for each in practice_figures(kind, since[kind].isoformat(), changes.get(kind, []))
        ],
        mistakes=mistake_figures(findings, [code.value for code in FindingCode]),
    )
    row = PracticeMonth(first_day=month, figures=msgspec.to_builtins(figures), closed_at=now)
    # Another worker whose claim ended may have stored it: the first answer stays.
    PracticeMonth.objects.bulk_create([row], ignore_conflicts=True)
    return 1
