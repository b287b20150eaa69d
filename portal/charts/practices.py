"""What many works did together, as pages and the API show it: practices and common findings, where groups allow."""

from dataclasses import dataclass
from datetime import date

from analysis.findings import FindingCode
from analysis.practices.figures import MistakeFigures
from analysis.practices.selectors import ShownPractice, closed_months, shown_mistakes, shown_practices
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
    """One sentence about a finding."""

    text: str
    figures: MistakeFigures


@dataclass(frozen=True)
class OfOthers:
    """All that may be shown, practices of all works first; `month` is that of the mistakes, empty without any."""

    practices: list[Practice]
    mistakes: list[Mistake]
    month: str


def of_others() -> OfOthers:
    """What the stored months show: one query."""
    months = closed_months()
    day, common = shown_mistakes(months) or (None, [])
    shown = [
        Practice(practice_text(each.figures), months_text(date.fromisoformat(each.figures.since), each.until), each)
        for each in shown_practices(months)
    ]
    mistakes = [Mistake(mistake_text(row), row) for row in common if row.code in CODES]
    return OfOthers(shown, mistakes[:MISTAKES_MAX], f"{day:%Y-%m}" if day else "")
