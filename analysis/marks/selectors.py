"""Reading marks."""

from datetime import datetime
from typing import Any

from django.db.models import Min, QuerySet

from analysis.marks.models import SweepMark


def swept_until(name: str) -> datetime | None:
    """The moment up to which a step found nothing more to do; None where it never got that far."""
    return SweepMark.objects.filter(name=name).values_list("at", flat=True).first()


def position_of(name: str) -> int | None:
    """The last row that a step checked; None before the first."""
    return SweepMark.objects.filter(name=name).values_list("position", flat=True).first()


def first_noted(rows: QuerySet[Any], subject: str, limit: int) -> list[int]:
    """Up to `limit` keys in the column `subject` of `Noted` rows, each once, those that were noted first."""
    first = rows.order_by().values(subject).annotate(first=Min("pk")).order_by("first")
    return list(first.values_list(subject, flat=True)[:limit])
