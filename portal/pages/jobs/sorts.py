"""The orders of the Jobs page, and the place of a run in one of them as it stands in an address."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db.models import F, Q
from django.db.models.expressions import OrderBy

JUDGED = "efficiency__"
KEY_OF_JUDGED = f"{JUDGED}job_id"
PLACE_CHARACTERS_MAX = 100
COUNT_MAX = 2**31 - 1


@dataclass(frozen=True)
class Stretch:
    """A part of a list that an index has in its order: `runs` in this `order`, by the columns of `table`.

    The values of its runs, as their places state them, stand in `column`; without one all have the same `value`.
    """

    runs: Q
    order: tuple[str, ...]
    table: str
    column: str = ""
    value: str | None = None


@dataclass(frozen=True)
class Sort:
    """Runs by one column, those without a value last; equal ones by their key, in the same direction.

    An index holds each column together with the owner, or the project, before it and the key behind it, so that a page
    anywhere in the list is read without what comes before it. `is_time` and `is_count` tell how a value is written.
    """

    label: str
    column: str
    is_descending: bool = True
    is_time: bool = False
    is_count: bool = False

    @property
    def table(self) -> str:
        """The way from a job to the table of the column: "" or "efficiency__"."""
        return JUDGED if self.column.startswith(JUDGED) else ""

    @property
    def key(self) -> str:
        """The column of the job's key in that table."""
        return KEY_OF_JUDGED if self.table else "pk"

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

    def stretches(self, place: Place | None, *, is_backward: bool, is_judged: bool) -> Iterator[Stretch]:
        """What lies behind this place, or before it: runs with a value come before those without.

        Where only judged runs are asked for (`is_judged`), those without a value have a row in the table as well.
        """
        starts_without = place is not None and place.value is None
        has_values = not starts_without
        begins = self.beyond(place, is_backward=is_backward) if place and has_values else Q()
        with_values = Stretch(
            begins & Q(**{f"{self.column}__isnull": False}),
            self.order(is_backward=is_backward),
            self.table,
            self.column,
        )
        table = self.table if is_judged else ""
        sign, sense = ("-", "lt") if self.is_descending != is_backward else ("", "gt")
        beyond = Q() if place is None or has_values else Q(**{f"pk__{sense}": place.pk})
        without = Stretch(
            beyond & Q(**{f"{self.column}__isnull": True}),
            (f"{sign}{self.key if table else 'pk'}",),
            table,
            self.column,
        )
        if is_backward:
            yield from (without, with_values) if starts_without else (with_values,)
        else:
            yield from (without,) if starts_without else (with_values, without)

    def place(self, text: str) -> Place | None:
        """The place that `Place.text` wrote; None for anything else."""
        written, key = key_of_place(text)
        if key is None or not written:
            return None if key is None else Place(None, key)
        try:
            read = _instant if self.is_time else _count if self.is_count else _number
            return Place(read(written), key)
        except (ValueError, OverflowError):
            return None


@dataclass(frozen=True)
class Place:
    """Where a run stands in an order: its value, None for none, and its key."""

    value: datetime | float | str | None
    pk: int

    @property
    def text(self) -> str:
        """
        >>> Place(12.5, 7).text, Place(None, 7).text
        ('12.5~7', '~7')
        """
        writes: dict[type, Callable[[Any], str]] = {datetime: datetime.isoformat, float: repr, int: repr}
        return f"{'' if self.value is None else writes.get(type(self.value), str)(self.value)}~{self.pk}"


def key_of_place(text: str) -> tuple[str, int | None]:
    """The value as it is written in a place, and the key; the key None for what is no place."""
    written, _, key = text[:PLACE_CHARACTERS_MAX].rpartition("~")
    return written, int(key) if key.isascii() and key.isdecimal() and len(key) < 19 else None


def _instant(text: str) -> datetime:
    instant = datetime.fromisoformat(text)
    if instant.tzinfo is None:
        raise ValueError("a time without a zone")
    return instant.astimezone(UTC)


def _count(text: str) -> int:
    count = int(text)
    if not 0 <= count <= COUNT_MAX:
        raise ValueError("more than the column holds")
    return count


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError("not a number")
    return number
