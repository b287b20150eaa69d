"""Anonymising the months that the site closed: each one once, checked before it is stored, and never again."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import date, datetime
from functools import partial

import msgspec

from analysis.anonymous.bands import ProgramOf
from analysis.anonymous.models import AnonymousMonth
from analysis.anonymous.month import figures_of
from analysis.anonymous.selectors import months_to_anonymise, runs_to_anonymise
from jobs.failures.services import Work, attempt_each

CLOSE_MONTH = "anonymised month"
SECRET_BYTES = 32


def anonymise_months(now: datetime, programs: Callable[[], ProgramOf]) -> int:
    """Store the anonymised rows of every month that the site closed; how many months.

    `programs` tells programs from the names of jobs; it is read where a month is due.
    """
    due = [int(f"{month:%Y%m}") for month in months_to_anonymise()]
    if not due:
        return 0
    closing = partial(_close, now=now, program_of=programs())
    return attempt_each(Work(CLOSE_MONTH, closing, is_recurring=True), [due], now).done


def _close(key: int, now: datetime, program_of: ProgramOf) -> int:
    first_day = date(key // 100, key % 100, 1)
    if AnonymousMonth.objects.filter(first_day=first_day).exists():
        return 0
    # The secret of the keys exists in this call alone.
    figures = figures_of(runs_to_anonymise(first_day, program_of), secrets.token_bytes(SECRET_BYTES))
    row = AnonymousMonth(first_day=first_day, figures=msgspec.to_builtins(figures), closed_at=now)
    # Another worker whose claim ended may have stored it: the first answer stays.
    AnonymousMonth.objects.bulk_create([row], ignore_conflicts=True)
    return 1
