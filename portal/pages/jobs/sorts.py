"""The orders of the Jobs page, and the place of a run in one of them as it stands in an address."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import F, Q
from django.db.models.expressions import OrderBy

JUDGED = "efficiency__"
PLACE_CHARACTERS_MAX = 100


@dataclass(frozen=True)
class Sort:
    """Runs by one column, those without a value last; equal ones by their key, in the same direction.

    An index holds each column together with the owner, or the project, before it and the key behind it, so that a page
    anywhere in the list is read without what comes before it. `is_time` tells how a value is written.
    """

    label: str
    column: str
    is_descending: bool = True
    is_time: bool = False

    @property
    def table(self) -> str:
        """The way from a job to the table of the column: "" or "efficiency__"."""
        return JUDGED if self.column.startswith(JUDGED) else ""

    @property
    def key(self) -> str:
        """The column of the job's key in that table."""
        return f"{JUDGED}job_id" if self.table else "pk"

    def order(self, *, is_backward: bool = False) -> tuple[str, str]:
        """The order of the runs that have a value."""
        sign = "-" if self.is_descending != is_backward else ""
        return f"{sign}{self.column}", f"{sign}{self.key}"

    def full_order(self) -> tuple[OrderBy, OrderBy]:
        """The order of all runs in one query, for whoever reads every one of them."""
        if self.is_descending:
            return F(self.column).desc(nulls_last=True), F("pk").desc()
        return F(self.column).asc(nulls_last=True), F("pk").asc()

    def beyond(self, place: Place, *, is_backward: bool) -> Q:
        """The runs with a value behind this place, or before it."""
        sense = "lt" if self.is_descending != is_backward else "gt"
        # The first condition alone finds where to begin in the index.
        return Q(**{f"{self.column}__{sense}e": place.value}) & (
            Q(**{f"{self.column}__{sense}": place.value}) | Q(**{f"{self.key}__{sense}": place.pk})
        )

    def keys_beyond(self, place: Place, *, is_backward: bool) -> Q:
        """The same among the runs without a value."""
        return Q(**{f"pk__{'lt' if self.is_descending != is_backward else 'gt'}": place.pk})

    def place(self, text: str) -> Place | None:
        """The place that `Place.text` wrote; None for anything else."""
        written, _, key = text[:PLACE_CHARACTERS_MAX].rpartition("~")
        if not (key.isascii() and key.isdecimal() and len(key) < 19):
            return None
        if not written:
            return Place(None, int(key))
        try:
            return Place(_instant(written) if self.is_time else _number(written), int(key))
        except (ValueError, OverflowError):
            return None


@dataclass(frozen=True)
class Place:
    """Where a run stands in an order: its value, None for none, and its key."""

    value: datetime | float | None
    pk: int

    @property
    def text(self) -> str:
        """
        >>> Place(12.5, 7).text, Place(None, 7).text
        ('12.5~7', '~7')
        """
        write: Callable[[Any], str] = datetime.isoformat if isinstance(self.value, datetime) else repr
        return f"{'' if self.value is None else write(self.value)}~{self.pk}"


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError("a time without a zone")
    return instant.astimezone(UTC)


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number


LATEST = Sort("Latest first", "ended_at", is_time=True)
LATEST_JUDGED = Sort("Latest first", f"{JUDGED}ended_at", is_time=True)
"""The same order where only judged runs are asked for: one index holds the class and the findings too."""

SORTS = {
    "ended": LATEST,
    "use": Sort("Lowest GPU use first", f"{JUDGED}avg_gpu_util", is_descending=False),
    "wasted": Sort("Most unused GPU-hours first", f"{JUDGED}wasted_gpu_hours"),
    "hours": Sort("Most GPU-hours first", f"{JUDGED}gpu_hours"),
    "runtime": Sort("Longest first", "walltime_used_s"),
}
FIRST_SORT = "ended"
