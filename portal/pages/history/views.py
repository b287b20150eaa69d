"""History: classes, use, unused GPU-hours and findings over the last days or weeks, and by weekday and hour."""

from collections.abc import Mapping
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from analysis.history.selectors import days_and_trend, told_by_owners
from analysis.history.sums import use_by_weekday
from analysis.outcomes.selectors import saved_by, sums_by_kind
from analysis.rollups.selectors import own_part, parts_by_site, site_now
from jobs.selectors import reach_of
from portal.access import person, signed_in_page
from portal.charts.advice_outcomes import kind_rows
from portal.charts.over_time import asked_period, over_time

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOURS_A_CELL = 3
SHADES = 5


@signed_in_page
def history(request: HttpRequest) -> HttpResponse:
    """Own jobs; a PI may look at all that this person sees with `?of=all`."""
    reach = reach_of(person(request))
    is_all = bool(reach.led) and request.GET.get("of") == "all"
    parts = reach.parts() if is_all else (reach.own,)
    now = site_now()
    days, period = asked_period(now, request.GET.get("days", ""))
    days_read = days_and_trend(parts_by_site(reach) if is_all else [own_part(reach)], period)
    # A PI's Jobs page lists those of others too.
    own = {"owner": person(request).username}
    context = {
        **over_time(days_read, now, days, period, own if reach.led and not is_all else None),
        "leads": bool(reach.led),
        "is_all": is_all,
        "left_out": told_by_owners(reach.parts(), period) if is_all else 0,
        "advice": kind_rows(sums_by_kind(parts, period)),
        "saved": saved_by(*parts),
        "grid": week_grid(use_by_weekday(days_read, period)),
    }
    return render(request, "portal/history/history.html", context)


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
