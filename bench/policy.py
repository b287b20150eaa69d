"""The policy export of a month with 100,000 users, streamed in both formats, against limits of the same run.

`python -m bench.policy` measures on an empty database that it creates and removes. Memory: the peak while all rows are
written, against that of a tenth of the rows. Time: reading and writing every row, against encoding as many rows that
are in memory already.
"""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Iterable

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.settings")

import django

django.setup()

from datetime import date  # noqa: E402

import msgspec  # noqa: E402
from django.utils import timezone  # noqa: E402

from analysis.models import ClosedMonth, PolicyRow  # noqa: E402
from analysis.policy.figures import USER  # noqa: E402
from analysis.policy.selectors import lines_of  # noqa: E402
from bench.empty_database import empty_database  # noqa: E402
from portal.policy_reading import FORMATS, Reading, parts  # noqa: E402

ROWS, FEW = 100_000, 10_000
BATCH_ROWS = 5000
MEMORY_RATIO_MAX = 1.5
TIME_RATIO_MAX = {"json": 25.0, "csv": 40.0}
"""Rows are read from a database and decoded; the limit is the bare encoding alone."""

SHARES = {"efficient": 0.25, "acceptable": 0.25, "inefficient": 0.25, "wasted": 0.25, "unknown": 0.0}
FIGURES = {
    **{"withheld_columns": [], "jobs": 100, "gpu_hours": 500.0, "efficiency_score": 55.0, "unused_gpu_hours": 225.0},
    **{"advice_gpu_hours": 100.0, "advice_fraction": 0.2, "classes_by_gpu_hours": SHARES, "classes_by_jobs": SHARES},
    **{"flag": False, "coverage_fraction": 0.97, "followed_runs": 2, "followed_gpu_hours": 20.0},
    "suggested_multiplier": 1.0,
}


def main() -> None:
    """Print each ratio with its limit; AssertionError if one is exceeded."""
    few, many = month_of(date(2026, 9, 1), FEW), month_of(date(2026, 10, 1), ROWS)
    line = next(lines_of(Reading((many,), USER).rows[:1]))
    started_s = time.perf_counter()
    encode = msgspec.json.Encoder().encode
    for _ in range(ROWS):
        encode(line)
    bare_s = time.perf_counter() - started_s
    for form in FORMATS:
        least_bytes, most_bytes = peak_bytes(few, form), peak_bytes(many, form)
        started_s = time.perf_counter()
        written_bytes = written(parts(Reading((many,), ""), form))
        took_s = time.perf_counter() - started_s
        memory, duration = most_bytes / least_bytes, took_s / bare_s
        print(
            f"{form}: {ROWS:,} rows, {written_bytes / 1e6:.0f} MB in {took_s:.1f} s; peak memory"
            f" {most_bytes / 1e6:.1f} MB, {memory:.2f} times that of {FEW:,} rows (at most {MEMORY_RATIO_MAX});"
            f" {duration:.1f} times the bare encoding (at most {TIME_RATIO_MAX[form]:.0f})"
        )
        assert memory <= MEMORY_RATIO_MAX, "memory grows with the rows"
        assert duration <= TIME_RATIO_MAX[form], "the export takes too long for each row"


def month_of(first_day: date, rows: int) -> ClosedMonth:
    """A closed month with so many users."""
    month = ClosedMonth.objects.create(kind="policy", figures=[], first_day=first_day, closed_at=timezone.now())
    PolicyRow.objects.bulk_create(
        (PolicyRow(month=month, kind=USER, key=f"{number:032x}", figures=FIGURES) for number in range(rows)),
        batch_size=BATCH_ROWS,
    )
    return month


def peak_bytes(month: ClosedMonth, form: str) -> int:
    """The most that Python allocates while the export is written part by part."""
    tracemalloc.start()
    written(parts(Reading((month,), ""), form))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return peak


def written(found: Iterable[bytes]) -> int:
    """The size of all parts, none of which is kept."""
    return sum(map(len, found))


if __name__ == "__main__":
    with empty_database():
        main()
