"""The hours of the week as tables that read like a map: hours down, weekdays across, darker for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.site.week_map import WeekMap
from portal.charts.withheld import WITHHELD_WORDS

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SHADES = 5
WITHHELD_CELL = ("withheld", "")


@dataclass(frozen=True)
class HourMap:
    """One table: `rows` of (hour, cells), each cell as (css class, number), the number empty where it is withheld."""

    key: str
    title: str
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True)
class Week:
    """Both tables of a month, or why they are withheld."""

    withheld: str
    maps: tuple[HourMap, ...] = ()
    weekdays: tuple[str, ...] = WEEKDAYS


def week_of(found: WeekMap | None) -> Week | None:
    """The maps of a month; None where it was closed before there were any."""
    if found is None:
        return None
    if found.withheld:
        return Week(WITHHELD_WORDS[found.withheld])
    top = max((value for value in found.allocated if value is not None), default=0.0) or 1.0
    maps = [HourMap("allocated", "Allocated GPU-hours, mean of an hour", _rows(found.allocated, "heat", top))]
    if any(value is not None for value in found.use_percent):
        maps.append(HourMap("use", "GPU use, % of what was measured", _rows(found.use_percent, "shade", 100.0)))
    return Week("", tuple(maps))


def _rows(values: Sequence[float | None], css: str, top: float) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """A row for each hour of the day, from the values by weekday and hour."""
    return tuple(
        (f"{hour:02}:00", tuple(_cell(values[day * 24 + hour], css, top) for day in range(len(WEEKDAYS))))
        for hour in range(24)
    )


def _cell(value: float | None, css: str, top: float) -> tuple[str, str]:
    """The shade of a number, 0 to 4.

    >>> _cell(45.0, "heat", 100.0), _cell(100.0, "heat", 100.0), _cell(None, "heat", 100.0)
    (('heat-2', '45'), ('heat-4', '100'), ('withheld', ''))
    """
    if value is None:
        return WITHHELD_CELL
    return f"{css}-{min(int(SHADES * value / top), SHADES - 1)}", f"{value:,.10g}"
