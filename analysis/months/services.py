"""Closing months: each one is added up once, and never again."""

from datetime import date, datetime
from functools import partial

import msgspec
from django.db import transaction

from analysis.models import ClosedMonth
from analysis.months.kind import MonthKind
from analysis.months.selectors import months_to_close
from jobs.work_queue.services import Work, attempt_each

ROWS_TOGETHER = 2000


def close_months(kind: MonthKind, now: datetime) -> int:
    """Store the figures of every month of a kind that can be closed, the oldest first; how many months.

    A month that fails is tried again after a pause, for ever.
    """
    due = [int(f"{month:%Y%m}") for month in months_to_close(kind, now)]
    return attempt_each(Work(kind.work, partial(_close, kind, now), is_recurring=True), [due], now).done


def _close(kind: MonthKind, now: datetime, key: int) -> int:
    month = date(key // 100, key % 100, 1)
    if ClosedMonth.objects.filter(kind=kind.code, first_day=month).exists():
        return 0
    figures = msgspec.to_builtins(kind.figures(month, now))
    rows = kind.rows(month, now) if kind.rows else ()
    with transaction.atomic():
        # Another worker whose claim ended may have stored it: the first answer stays.
        columns = {"figures": figures, "closed_at": now}
        closed, is_new = ClosedMonth.objects.get_or_create(kind=kind.code, first_day=month, defaults=columns)
        if is_new and rows:
            for row in rows:
                row.month = closed
            type(rows[0]).objects.bulk_create(rows, batch_size=ROWS_TOGETHER)
    return int(is_new)
