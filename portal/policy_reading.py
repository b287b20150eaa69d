"""Readings of the policy figures: which months somebody asks about, and the entry of the audit log for each reading."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import QuerySet

from analysis.models import ClosedMonth, PolicyRow
from analysis.policy.figures import ADVISORY, KINDS, MONTH_PATTERN, SCHEMA
from analysis.policy.selectors import lines_of, policy_months, rows_of, withheld_counts
from jobs.audit.services import Action, Actor, Kind, record_change
from reports.policy_export import json_parts, table
from wire.csv_cells import csv_lines

FORMATS = ("json", "csv")
MONTH = re.compile(MONTH_PATTERN)
FIRST_DAY = re.compile(r"(20[0-9]{2}-(?:0[1-9]|1[0-2]))(?:-01)?")


class NoSuchPeriod(LookupError):
    """Months of which none is closed, or still kept."""


@dataclass(frozen=True)
class Reading:
    """The closed months and the kind of rows that somebody reads; `by` is empty for both kinds."""

    months: tuple[ClosedMonth, ...]
    by: str

    @property
    def rows(self) -> QuerySet[PolicyRow]:
        return rows_of(self.months, self.by)

    @property
    def head(self) -> dict[str, Any]:
        """What stands before the rows of the JSON."""
        return {
            **{"schema": SCHEMA, "advisory": ADVISORY, "periods": [str(month) for month in self.months]},
            "withheld": withheld_counts(self.rows),
        }

    @property
    def file_name(self) -> str:
        """The name of a download, without its ending."""
        names = [str(month) for month in self.months]
        return "-".join(["kaiku-policy", *([self.by] if self.by else []), *names[:1], *names[1:][-1:]])


def reading(
    *, period: str | None = None, since: str | None = None, until: str | None = None, by: str | None = None
) -> Reading:
    """The months that fit all that is given; the latest closed month where nothing is.

    Only whole closed months: two periods that overlap in part could be subtracted from each other. ValueError for what
    is not a month and for months that nothing can fit, NoSuchPeriod for a period that is not there.
    """
    if by is not None and by not in KINDS:
        raise ValueError(f"by must be one of {', '.join(KINDS)}.")
    if period is not None and not MONTH.fullmatch(period):
        raise ValueError("A period is a month, such as 2026-10.")
    first, end = _month(since), _month(until)
    _check_order(period or "", first, end)
    months = policy_months()
    if period is None and since is None and until is None:
        return Reading(tuple(months[-1:]), by or "")
    fit = [month for month in months if first <= str(month) and (not end or str(month) < end)]
    fit = [month for month in fit if period in (None, str(month))]
    if not fit:
        asked = period or "months " + " and ".join(
            [*([f"from {first}"] if first else []), *([f"before {end}"] if end else [])]
        )
        raise NoSuchPeriod(f"There are no figures of {asked}; without a period it is the latest month.")
    return Reading(tuple(fit), by or "")


def _check_order(period: str, first: str, end: str) -> None:
    """ValueError where no month can fit: an empty answer would look like a month without jobs."""
    if first and end and first >= end:
        raise ValueError(
            f"since {first} is not before until {end}: since is the first month, until the month after the last one."
        )
    if period and ((first and period < first) or (end and period >= end)):
        raise ValueError(f"The period {period} is outside since and until: give either a period, or since and until.")


def _month(text: str | None) -> str:
    """The month of a bound, empty for none."""
    found = FIRST_DAY.fullmatch(text) if text is not None else None
    if text is not None and not found:
        raise ValueError(
            "since and until are months, such as 2026-10, or their first days: only whole months are given."
        )
    return found[1] if found else ""


def parts(asked: Reading, form: str) -> Iterator[bytes]:
    """The export in one of `FORMATS`, part by part."""
    lines = lines_of(asked.rows)
    if form == "json":
        return json_parts(asked.head, lines)
    return (line.encode() for line in csv_lines(table(lines)))


def log_reading(by: Actor, what: str, form: str, rows: int) -> None:
    """Store who read what, in which form and how many rows."""
    with transaction.atomic():
        record_change(by, Action.POLICY_READ, Kind.POLICY, what, f"{form}, {rows} rows")


def what_of(asked: Reading) -> str:
    """What is read, for the log.

    >>> what_of(Reading((), "user"))
    'efficiency by user, no period'
    """
    names = [str(month) for month in asked.months]
    span = " to ".join([*names[:1], *names[1:][-1:]]) or "no period"
    return f"efficiency{f' by {asked.by}' if asked.by else ''}, {span}"
