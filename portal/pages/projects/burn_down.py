"""The GPU-hours left of an allocation as a line that goes down, and its forecast as a dashed one."""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

from analysis.history.run_sums import Days
from jobs.models import ProjectAllocation
from portal.charts.columns import HEIGHT, WIDTH, nice_top, scale
from portal.charts.forecast import Forecast, burn_down
from wire.numbers import hours

DAYS_AHEAD = 30
"""How far the drawing looks where neither an end nor a forecast is known."""

NEAR_END = 150
"""So near to an end of the drawing a name has no room on both sides of its line."""


@dataclass(frozen=True)
class BurnDown:
    """Points of the lines in a box of 0..1000 by 0..200, its days, and a table.

    `mark` names the line of the reading, and `anchor` is the side of it on which the name has room.
    """

    line: str
    forecast_line: str
    read_x: float
    scale: tuple[str, ...]
    mark: str
    anchor: str
    first_label: str
    middle_label: str
    read_label: str
    last_label: str
    rows: tuple[tuple[str, str], ...]

    @property
    def read_percent(self) -> float:
        """Where the line of the reading stands in the width of the drawing."""
        return self.read_x / WIDTH * 100


def burn_down_of(
    row: ProjectAllocation, forecast: Forecast | None, runs: Days, since: datetime, today: date
) -> BurnDown | None:
    """The drawing; None where nobody counts the use, or no time has passed since it is known."""
    points = burn_down(row, runs, since)
    if len(points) < 2:
        return None
    first, read = points[0][0].date(), points[-1][0].date()
    last = max(_last_day(row, forecast, read), read + timedelta(days=1))
    top = nice_top(row.gpu_hours)

    def place(day: date, left: float) -> str:
        return f"{_x(day, first, last):.1f},{HEIGHT * (1 - left / top):.1f}"

    ahead, read_x = _ahead(row, forecast), round(_x(read, first, last), 1)
    return BurnDown(
        line=" ".join(place(at.date(), left) for at, left in points),
        forecast_line=f"{place(read, points[-1][1])} {place(*ahead)}" if ahead else "",
        read_x=read_x,
        scale=scale(top),
        mark=f"{'Today' if read == today else 'Read'}, {_day(read)}",
        anchor="start" if read_x < NEAR_END else "end" if read_x > WIDTH - NEAR_END else "middle",
        first_label=_day(first),
        middle_label=_day(first + (last - first) / 2),
        read_label=_day(read),
        last_label=_day(last),
        rows=tuple((_day(at.date()), hours(left)) for at, left in points),
    )


def _x(day: date, first: date, last: date) -> float:
    return WIDTH * ((day - first) / (last - first))


def _last_day(row: ProjectAllocation, forecast: Forecast | None, read: date) -> date:
    if row.ends_on:
        return row.ends_on
    runs_out_on = forecast.runs_out_on if forecast else None
    return runs_out_on or read + timedelta(days=DAYS_AHEAD)


def _ahead(row: ProjectAllocation, forecast: Forecast | None) -> tuple[date, float] | None:
    """Where the forecast ends: at nothing, or on the last day with what is left then."""
    if forecast is None:
        return None
    if row.ends_on and forecast.left_at_end:
        return row.ends_on, forecast.left_at_end
    return (forecast.runs_out_on, 0.0) if forecast.runs_out_on else None


def _day(day: date) -> str:
    return f"{day:%-d %b %Y}"
