"""Reading the months of people's answers: those that are stored, and those that can be closed."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, datetime, timedelta

import msgspec
from django.db.models import Count, DateField, Q, QuerySet
from django.db.models.functions import TruncMonth

from analysis.answers.figures import FindingAnswers
from analysis.answers.models import AnswerMonth
from analysis.models import Feedback
from analysis.rollups.selectors import site_zone
from analysis.site.selectors import CLOSED_AFTER, MONTHS, month_ends


def closed_months() -> list[tuple[date, list[FindingAnswers]]]:
    """The latest months that are added up, the newest first."""
    rows = AnswerMonth.objects.order_by("-first_day").values_list("first_day", "figures")[:MONTHS]
    return [(day, msgspec.convert(figures, list[FindingAnswers])) for day, figures in rows]


def answers_of_month(first_day: date) -> list[FindingAnswers] | None:
    """The answers of one month; None while it is not closed, or if nobody answered."""
    figures = AnswerMonth.objects.filter(first_day=first_day).values_list("figures", flat=True).first()
    return None if figures is None else msgspec.convert(figures, list[FindingAnswers])


def months_to_close(now: datetime) -> list[date]:
    """The first days of months that ended long enough ago, have answers, and are not closed."""
    last = (now.astimezone(site_zone()) - CLOSED_AFTER).date().replace(day=1)
    months = [last := (last - timedelta(days=1)).replace(day=1) for _ in range(MONTHS)]
    closed = set(AnswerMonth.objects.filter(first_day__in=months).values_list("first_day", flat=True))
    if closed.issuperset(months):
        return []
    # One query for all of them: this is asked with every sweep, and months without any answer are never closed.
    month_of = TruncMonth("given_at", tzinfo=site_zone(), output_field=DateField())
    given = set(_given_in(months[-1], months[0]).values_list(month_of, flat=True).distinct().order_by())
    return [month for month in months if month in given - closed]


def given_in_month(month: date) -> Iterator[tuple[str, int, int, int]]:
    """The answers of a month by code and person: how many "right", how many "wrong"."""
    right, wrong = (Count("pk", filter=Q(is_right=is_right)) for is_right in (True, False))
    yield from _given_in(month, month).values_list("code", "user").annotate(right=right, wrong=wrong).order_by()


def _given_in(first: date, last: date) -> QuerySet[Feedback]:
    """The answers from one month to another; runs that only their owner reported are left out, as unconfirmed."""
    start, end = month_ends(first)[0], month_ends(last)[1]
    return Feedback.objects.filter(given_at__gte=start, given_at__lt=end, job__is_told_by_owner=False)
