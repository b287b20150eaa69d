"""Reading the months of people's answers: those that are stored, and those that can be closed."""

from collections.abc import Iterator, Sequence
from datetime import date

from django.db.models import Count, DateField, Q, QuerySet
from django.db.models.functions import TruncMonth

from analysis.answers.figures import FindingAnswers
from analysis.models import Feedback
from analysis.months.selectors import figures_of, latest_figures, month_ends
from analysis.rollups.selectors import site_zone


def closed_months() -> list[tuple[date, list[FindingAnswers]]]:
    """The latest months that are added up, the newest first."""
    return latest_figures("answers", list[FindingAnswers])


def answers_of_month(first_day: date) -> list[FindingAnswers] | None:
    """The answers of one month; None while it is not closed, or if nobody answered."""
    return figures_of("answers", first_day, list[FindingAnswers])


def months_with_answers(months: Sequence[date]) -> set[date]:
    """Those of these months, the oldest first, that have answers: one query, since most months never have any."""
    month_of = TruncMonth("given_at", tzinfo=site_zone(), output_field=DateField())
    given = _given_in(months[0], months[-1]).values_list(month_of, flat=True).distinct().order_by()
    return {month for month in given if month in months}


def given_in_month(month: date) -> Iterator[tuple[str, int, int, int]]:
    """The answers of a month by code and person: how many "right", how many "wrong"."""
    right, wrong = (Count("pk", filter=Q(is_right=is_right)) for is_right in (True, False))
    yield from _given_in(month, month).values_list("code", "user").annotate(right=right, wrong=wrong).order_by()


def _given_in(first: date, last: date) -> QuerySet[Feedback]:
    """The answers from one month to another; runs that only their owner reported are left out, as unconfirmed."""
    start, end = month_ends(first)[0], month_ends(last)[1]
    return Feedback.objects.filter(given_at__gte=start, given_at__lt=end, job__is_told_by_owner=False)
