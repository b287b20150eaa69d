"""Closing the months of people's answers: each one is added up once, and never again."""

from __future__ import annotations

from datetime import date, datetime
from functools import partial

import msgspec

from analysis.answers.figures import month_answers
from analysis.answers.models import AnswerMonth
from analysis.answers.selectors import given_in_month, months_to_close
from jobs.failures.services import Work, attempt_each

CLOSE_MONTH = "month of answers"


def close_months(now: datetime) -> int:
    """Store what may be shown of the answers of every month that can be closed; how many months."""
    due = [int(f"{month:%Y%m}") for month in months_to_close(now)]
    return attempt_each(Work(CLOSE_MONTH, partial(_close, now=now), is_recurring=True), [due], now).done


def _close(key: int, now: datetime) -> int:
    month = date(key // 100, key % 100, 1)
    if AnswerMonth.objects.filter(first_day=month).exists():
        return 0
    figures = msgspec.to_builtins(month_answers(given_in_month(month)))
    # Another worker whose claim ended may have stored it: the first answer stays.
    AnswerMonth.objects.bulk_create(
        [AnswerMonth(first_day=month, figures=figures, closed_at=now)], ignore_conflicts=True
    )
    return 1
