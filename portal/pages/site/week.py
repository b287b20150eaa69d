"""The hours of the week as tables that read like a map: hours down, weekdays across, darker for more.

A figure that is mostly rounding is not shown: 20 that may be 0 to 40 looks like a measured difference to the hour
beside it. Which ones these are follows from the figure and its step alone, so that it reveals nothing else.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.site.week_map import HARMLESS_STEP_PERCENT, WeekMap, is_mostly_rounding
from portal.charts.site_claims import WITHHELD_WORDS

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
SHADES = 5
WITHHELD_CELL, ROUNDING_CELL = ("withheld", ""), ("rounding", "")
ALL_ROUNDING = "withheld: each figure would be mostly rounding"

Values = Sequence[float | None]
Readable = tuple[float | None, bool]
"""A figure, None where it is not shown, and whether that is because it is mostly rounding."""


@dataclass(frozen=True)
class HourMap:
    """One table: `rows` of (hour, cells), each cell as (css class, number), the number empty where none is shown."""

    key: str
    title: str
    rows: tuple[tuple[str, tuple[tuple[str, str], ...]], ...]


@dataclass(frozen=True)
class Week:
    """Both tables of a month, or why they are withheld. `is_coarse`: some figures are mostly rounding."""

    withheld: str
    maps: tuple[HourMap, ...] = ()
    weekdays: tuple[str, ...] = WEEKDAYS
    is_coarse: bool = False


def week_of(found: WeekMap | None) -> Week | None:
    """The maps of a month; None where it was closed before there were any."""
    if found is None:
        return None
    if found.withheld:
        return Week(WITHHELD_WORDS[found.withheld])
    allocated = _readable(found.allocated, found.allocated_steps, 0.0)
    use = _readable(found.use_percent, found.use_steps_percent, HARMLESS_STEP_PERCENT)
    top = max((value for value, _ in allocated if value is not None), default=0.0) or 1.0
    maps = [
        HourMap(key, title, _rows(figures, css, highest))
        for key, title, figures, css, highest in (
            ("allocated", "Allocated GPU-hours, mean of an hour", allocated, "heat", top),
            ("use", "GPU use, % of what was measured", use, "shade", 100.0),
        )
        if any(value is not None for value, _ in figures)
    ]
    if not maps:
        return Week(ALL_ROUNDING)
    return Week("", tuple(maps), is_coarse=any(is_rounding for _, is_rounding in (*allocated, *use)))


def _readable(values: Values, steps: Values, harmless_step: float) -> list[Readable]:
    """The figures that may be read as such."""
    return [
        (None, True)
        if value is not None and step is not None and is_mostly_rounding(value, step, harmless_step)
        else (value, False)
        for value, step in zip(values, steps, strict=True)
    ]


def _rows(values: Sequence[Readable], css: str, top: float) -> tuple[tuple[str, tuple[tuple[str, str], ...]], ...]:
    """A row for each hour of the day, from the values by weekday and hour."""
    return tuple(
        (f"{hour:02}:00", tuple(_cell(*values[day * 24 + hour], css, top) for day in range(len(WEEKDAYS))))
        for hour in range(24)
    )


def _cell(value: float | None, is_rounding: bool, css: str, top: float) -> tuple[str, str]:
    """The shade of a number, 0 to 4.

    >>> _cell(45.0, False, "heat", 100.0), _cell(None, False, "heat", 100.0), _cell(None, True, "heat", 100.0)
    (('heat-2', '45'), ('withheld', ''), ('rounding', ''))
    """
    if value is None:
        return ROUNDING_CELL if is_rounding else WITHHELD_CELL
    return f"{css}-{min(int(SHADES * value / top), SHADES - 1)}", f"{value:,.10g}"
