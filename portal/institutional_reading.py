"""The anonymised rows of a closed month for other sites, and the entry of the audit log for each reading."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from pathlib import PurePath

from django.db import transaction

from analysis.anonymous.lines import Head
from analysis.anonymous.month import AnonymousFigures
from analysis.anonymous.selectors import anonymous_days, anonymous_figures
from analysis.site.selectors import CLOSED_AFTER
from jobs.audit.services import Action, Actor, Kind, record_change
from jobs.hardware import site
from portal.policy_reading import MONTH
from reports.performance.institutional import FORMATS, head_of

CLOSED_BY = (
    f"A worker closes a month {CLOSED_AFTER.days} days after its end, or `manage.py close_months` does,"
    " which states why one is not closed."
)


class NoSuchMonthError(LookupError):
    """A month that is not anonymised here."""


@dataclass(frozen=True)
class Institutional:
    """The rows of a month with what is stated before them."""

    figures: AnonymousFigures
    head: Head

    def parts(self, form: str) -> Iterator[bytes]:
        """The file in one of the formats, part by part."""
        return FORMATS[form](self.figures, self.head)

    @property
    def said(self) -> str:
        """How many rows there are, and who is in none, in a line."""
        withheld = ", ".join(f"{each.reason} at most {each.people_at_most}" for each in self.head.withheld)
        return f"{self.head.month}: {self.head.rows} rows; people withheld: {withheld or 'none'}"


def institutional(month: str) -> Institutional:
    """ValueError for what is no month, NoSuchMonthError for one that is not anonymised."""
    if not MONTH.fullmatch(month):
        raise ValueError("A month is written as 2026-10; only whole closed months are exported.")
    figures = anonymous_figures(date.fromisoformat(f"{month}-01"))
    if figures is None:
        known = ", ".join(f"{each:%Y-%m}" for each in anonymous_days())
        raise NoSuchMonthError(
            f"{month} is not closed here, or has no jobs. Closed months: {known or 'none'}. {CLOSED_BY}"
        )
    return Institutional(figures, head_of(figures, site().name, month))


def form_of(file_name: str) -> str:
    """The format by the end of a file's name; that of a name without one. Raises ValueError for another ending.

    >>> form_of("rows.parquet"), form_of("ROWS.CSV"), form_of("rows")
    ('parquet', 'csv', 'jsonl')
    """
    ending = PurePath(file_name).suffix.lower().removeprefix(".")
    if ending and ending not in FORMATS:
        raise ValueError(f"{file_name}: a file must end as its format: {', '.join(f'.{each}' for each in FORMATS)}")
    return ending or "jsonl"


def log_reading(by: Actor, asked: Institutional, form: str) -> None:
    """Store who exported which month, before anything is written."""
    with transaction.atomic():
        details = f"institutional, {form}, {asked.head.rows} rows"
        record_change(by, Action.RUNS_EXPORTED, Kind.ELSEWHERE, asked.head.month, details)
