"""Mean GPU use by weekday and time of the start, as a table whose cells are shaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOURS_A_CELL = 3
SHADES = 5


@dataclass(frozen=True)
class Cell:
    """Jobs that started in these hours; `use_percent` is None where nothing started. `shade` is 0 (idle) to 4."""

    jobs: int
    use_percent: float | None

    @property
    def shade(self) -> int:
        return 0 if self.use_percent is None else min(int(self.use_percent / (100 / SHADES)), SHADES - 1)


@dataclass(frozen=True)
class WeekGrid:
    """A row for each weekday, a cell for each few hours."""

    hours: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]
    jobs: int


def week_grid(starts: Mapping[tuple[int, int], tuple[int, float]]) -> WeekGrid:
    """From (weekday 1..7, hour) -> (jobs, sum of their use)."""
    firsts = range(0, 24, HOURS_A_CELL)
    rows = tuple(
        (name, tuple(_cell(starts, weekday, first) for first in firsts))
        for weekday, name in enumerate(WEEKDAYS, start=1)
    )
    hours = tuple(f"{first:02d}–{first + HOURS_A_CELL:02d}" for first in firsts)
    return WeekGrid(hours, rows, sum(jobs for jobs, _ in starts.values()))


def _cell(starts: Mapping[tuple[int, int], tuple[int, float]], weekday: int, first: int) -> Cell:
    seen = [starts.get((weekday, hour), (0, 0.0)) for hour in range(first, first + HOURS_A_CELL)]
    jobs = sum(count for count, _ in seen)
    return Cell(jobs, sum(total for _, total in seen) / jobs if jobs else None)
