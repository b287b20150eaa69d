"""What many works did together, as pages and the API show it: practices and common findings, where groups allow."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date

from analysis.findings import FindingCode
from analysis.practices.selectors import ShownPractice, shown_mistakes, shown_practices
from reports.practice_texts import mistake_text, months_text, practice_text

MISTAKES_MAX = 5
CODES = frozenset(code.value for code in FindingCode)


@dataclass(frozen=True)
class Practice:
    """One sentence and the months of its works."""

    text: str
    months: str
    practice: ShownPractice


@dataclass(frozen=True)
class Mistake:
    """One sentence about the finding `code`."""

    text: str
    code: str
    works: int
    of_works: int
    people: int
    unused_gpu_hours: float | None


def practices() -> list[Practice]:
    """Every practice that may be shown, those of all works first: one query."""
    return [
        Practice(practice_text(each.figures), months_text(date.fromisoformat(each.figures.since), each.until), each)
        for each in shown_practices()
    ]


def mistakes() -> tuple[str, list[Mistake]]:
    """The most common findings of the latest month that has any, and the month: one query."""
    day, rows = shown_mistakes() or (None, [])
    shown = [
        Mistake(mistake_text(row), row.code, row.works, row.of_works, row.people, row.unused_gpu_hours)
        for row in rows
        if row.code in CODES
    ]
    return f"{day:%Y-%m}" if day else "", shown[:MISTAKES_MAX]
