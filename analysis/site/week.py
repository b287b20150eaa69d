"""The hours of the week: in which of them a run had its GPUs, and how often each occurs in a month; pure."""

from datetime import UTC, datetime, timedelta, tzinfo
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from analysis.use_course import STEPS, UNMEASURED

HOURS = 24 * 7
"""Cells of a week: hour 0 of Monday first, in the calendar of the site."""

SLOT_S, SLOTS_OF_DAY = 900, 96
"""Every zone differs from UTC by whole quarters of an hour, so a quarter belongs to one hour of the week."""

DAYS_KEPT = 500


@lru_cache(maxsize=DAYS_KEPT)
def _cells_of_day(day: int, zone: tzinfo) -> NDArray[np.int64]:
    first = datetime.fromtimestamp(day * 86_400, UTC)
    local = [(first + timedelta(seconds=SLOT_S * slot)).astimezone(zone) for slot in range(SLOTS_OF_DAY)]
    return np.array([at.weekday() * 24 + at.hour for at in local], dtype=np.int64)


def cells_of(slots: NDArray[np.int64], zone: tzinfo) -> NDArray[np.int64]:
    """The hour of the week of each of these quarters of an hour since 1970."""
    first, last = int(slots.min()) // SLOTS_OF_DAY, int(slots.max()) // SLOTS_OF_DAY
    cells = np.concatenate([_cells_of_day(day, zone) for day in range(first, last + 1)])
    return cells[slots - first * SLOTS_OF_DAY]


def hours_between(start: datetime, end: datetime) -> NDArray[np.float64]:
    """How many hours of each cell are between two midnights, in the zone of the first.

    Where summer time begins, the hour that is left out is missing from its cell.
    """
    slots = np.arange(start.timestamp() // SLOT_S, end.timestamp() // SLOT_S, dtype=np.int64)
    counts = np.bincount(cells_of(slots, start.tzinfo or UTC), minlength=HOURS)
    return counts.astype(np.float64) * (SLOT_S / 3600)


def by_hour(
    started_at: datetime | None, ended_at: datetime, zone: tzinfo, of_parts: NDArray[np.float64]
) -> NDArray[np.float64]:
    """What a run has in each hour of the week, from the means of its `STEPS` equal parts: a row for each hour.

    Where the start is not known, all of it counts for the hour of its end.
    """
    end_s = ended_at.timestamp()
    start_s = min(started_at.timestamp() if started_at else end_s, end_s - 1.0)
    quarters = np.arange(start_s // SLOT_S + 1, end_s / SLOT_S) * SLOT_S
    edges = np.sort(np.concatenate([quarters, np.linspace(start_s, end_s, STEPS + 1)]))
    middles = (edges[1:] + edges[:-1]) / 2
    parts = np.minimum(((middles - start_s) / (end_s - start_s) * STEPS).astype(np.int64), STEPS - 1)
    cells = cells_of((middles // SLOT_S).astype(np.int64), zone)
    fractions = np.diff(edges) / (end_s - start_s)
    columns = [np.bincount(cells, fractions * column[parts], HOURS) for column in of_parts.T]
    return np.stack(columns, axis=1).astype(np.float64)


def parts_of_course(course: bytes | None, util_percent: float | None, measured_fraction: float) -> NDArray[np.float64]:
    """Used, unused and not measured as fractions of each part of a run: three columns that add up to 1.

    What the course does not state is the mean; where only a fraction of the run was measured, it is in the parts that
    the course states.
    """
    if util_percent is None:
        return np.tile([0.0, 0.0, 1.0], (STEPS, 1))
    points = np.frombuffer(course, dtype=np.uint8) if course else np.full(STEPS, UNMEASURED, dtype=np.uint8)
    is_stated = points != UNMEASURED
    use = np.where(is_stated, points, util_percent) / 100
    measured = np.full(STEPS, measured_fraction)
    if measured_fraction < 1 and is_stated.any():
        measured = is_stated * min(measured_fraction * STEPS / int(is_stated.sum()), 1.0)
    return np.stack([measured * use, measured * (1 - use), 1 - measured], axis=1)
