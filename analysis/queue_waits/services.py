"""The backtest of stored runs, and keeping what it shows: how far estimates of waits are off, by partition."""

from collections.abc import Iterator
from dataclasses import asdict
from datetime import datetime, timedelta

from django.db import transaction

from analysis.queue_waits.backtest import Backtested, backtest, bands
from analysis.queue_waits.models import WaitRange
from analysis.queue_waits.rule import WINDOW_S
from analysis.queue_waits.selectors import partitions_since, starts_since

BACKTEST_DAYS = 28
"""Submissions of these days are estimated again: the errors of 14 days, and 14 days to try their ranges."""

MEASURED = (
    *("low_factor", "high_factor", "error_submissions"),
    *("coverage", "factor_off", "submissions", "jobs", "made_at"),
)
"""The columns that each backtest replaces."""

ROWS_MAX = 200_000
"""Of each partition at most as many of the latest starts are read: about 60 MB."""


def backtests(now: datetime, days: int, cluster: str | None = None) -> Iterator[tuple[str, dict[str, Backtested]]]:
    """For each cluster, or one, its name and the estimates for the runs submitted in these days."""
    since = now - timedelta(days=days)
    read_since = since - timedelta(seconds=WINDOW_S)
    for name, partitions in partitions_since(since, cluster):
        starts = {partition: starts_since(name, partition, read_since, ROWS_MAX) for partition in partitions}
        yield name, backtest(starts, since.timestamp())


def keep_ranges(now: datetime) -> int:
    """Run the backtest and store what estimates use from now on; returns the number of ranges."""
    return sum(store(name, tested, now) for name, tested in backtests(now, BACKTEST_DAYS))


def store(cluster: str, tested: dict[str, Backtested], now: datetime) -> int:
    """Replace the ranges of a cluster; a partition without enough errors has none of its own afterwards."""
    rows = [
        WaitRange(
            cluster=cluster,
            partition=partition,
            low_factor=band.low_factor,
            high_factor=band.high_factor,
            error_submissions=band.submissions,
            made_at=now,
            **asdict(held),
        )
        for partition, band, held in bands(tested, now.timestamp())
    ]
    with transaction.atomic():
        WaitRange.objects.bulk_create(
            rows, update_conflicts=True, unique_fields=["cluster", "partition"], update_fields=MEASURED
        )
        WaitRange.objects.filter(cluster=cluster, made_at__lt=now).delete()
    return len(rows)
