"""When an allocation runs out: by hand, and unknown wherever something to reckon with is."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta

import pytest

from analysis.history.run_sums import Days, JudgedRun, sums_by_day
from jobs.models import ProjectAllocation
from portal.charts.forecast import burn_down, forecast_of
from portal.pages.projects.burn_down import burn_down_of

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def runs(*ended: tuple[float, float]) -> Days:
    """Runs of (days ago, GPU-hours); the first of them counts in no statistic, but is billed."""
    judged = (
        JudgedRun(NOW - timedelta(days=days), None, "WASTED", "" if place else "short", None, hours, None, None, "")
        for place, (days, hours) in enumerate(ended)
    )
    return Days(sums_by_day(judged, UTC))


def allocation(**changes: object) -> ProjectAllocation:
    """1,000 GPU-hours from August until June, 600 used."""
    columns = {
        "gpu_hours": 1000.0,
        "used_gpu_hours": 600.0,
        "begins_on": date(2026, 8, 1),
        "ends_on": date(2027, 6, 1),
        "read_at": NOW,
    }
    return ProjectAllocation(**columns | changes)


RECENT = runs((1, 20.0), (10, 70.0), (29, 30.0), (31, 500.0))
"""120 GPU-hours in the last thirty days are 4 a day."""


def test_what_is_left_lasts_as_long_as_the_recent_rate_lets_it() -> None:
    seen = forecast_of(allocation(), RECENT, NOW)
    # 400 left at 4 a day are 100 days from 20 November.
    assert (seen.gpu_hours_a_day, seen.days, seen.jobs) == (pytest.approx(4.0), 30, 3)
    assert (seen.runs_out_on, seen.left_at_end, seen.is_used_up) == (date(2027, 2, 28), 0.0, True)


def test_an_end_before_that_leaves_hours() -> None:
    # 41 days at 4 a day: 400 - 164.
    seen = forecast_of(allocation(ends_on=date(2026, 12, 31)), RECENT, NOW)
    assert (seen.left_at_end, seen.is_used_up) == (pytest.approx(236.0), False)


def test_it_begins_where_the_directory_was_read() -> None:
    seen = forecast_of(allocation(read_at=NOW - timedelta(days=5)), RECENT, NOW)
    assert seen.runs_out_on == date(2027, 2, 23)


def test_an_unknown_end_is_no_end() -> None:
    seen = forecast_of(allocation(ends_on=None), RECENT, NOW)
    assert (seen.runs_out_on, seen.left_at_end, seen.is_used_up) == (date(2027, 2, 28), None, True)


def test_a_young_allocation_is_reckoned_from_its_first_day() -> None:
    seen = forecast_of(allocation(begins_on=date(2026, 11, 8)), RECENT, NOW)
    # 90 in 12 days.
    assert (seen.days, seen.gpu_hours_a_day) == (12, pytest.approx(7.5))


@pytest.mark.parametrize(
    "changes",
    [
        {"used_gpu_hours": None},
        {"used_gpu_hours": 1000.0},
        {"used_gpu_hours": 1200.0},
        {"begins_on": date(2026, 11, 14)},
        {"begins_on": date(2026, 12, 1)},
        {"ends_on": date(2026, 11, 19)},
    ],
)
def test_nothing_is_forecast_where_something_is_unknown_used_up_or_over(changes: dict[str, object]) -> None:
    assert forecast_of(allocation(**changes), RECENT, NOW) is None


def test_without_use_nothing_runs_out() -> None:
    seen = forecast_of(allocation(), runs((40, 10.0)), NOW)
    assert (seen.gpu_hours_a_day, seen.runs_out_on, seen.left_at_end) == (0.0, None, 400.0)
    little = forecast_of(allocation(ends_on=None), runs((1, 0.01)), NOW)
    assert (little.runs_out_on, little.is_used_up) == (None, False), "not a date in the year 5000"


def test_the_line_goes_back_from_what_was_left() -> None:
    points = burn_down(allocation(), RECENT, NOW - timedelta(days=33))
    # Weeks begin on Mondays: 19 October, 26 October, 2, 9, 16 November; then the reading itself.
    assert [(at.day, left) for at, left in points] == [
        (19, pytest.approx(1000.0)),
        (26, pytest.approx(490.0)),
        (2, pytest.approx(490.0)),
        (9, pytest.approx(490.0)),
        (16, pytest.approx(420.0)),
        (20, pytest.approx(400.0)),
    ]
    # 50 more than allocated were used: the 70 of ten days ago used up the last 20.
    overdrawn = burn_down(allocation(used_gpu_hours=1050.0), RECENT, NOW - timedelta(days=13))
    assert [(at.day, left) for at, left in overdrawn] == [(9, pytest.approx(40.0)), (16, 0.0), (20, 0.0)]
    assert burn_down(allocation(used_gpu_hours=None), RECENT, NOW - timedelta(days=33)) == []


def test_it_is_drawn_until_the_end_of_the_allocation() -> None:
    row = allocation(begins_on=date(2026, 10, 31), ends_on=date(2027, 1, 1))
    drawn = burn_down_of(row, forecast_of(row, RECENT, NOW), RECENT, NOW - timedelta(days=60), NOW.date())
    # From Monday 2 November, 60 days: 20 November is day 18. At 4.5 a day (90 in 20 days), 42 days leave 211.
    assert (drawn.first_label, drawn.read_label, drawn.last_label) == ("2 Nov 2026", "20 Nov 2026", "1 Jan 2027")
    # Day 30 of 60 is 2 December.
    assert (drawn.middle_label, drawn.mark, drawn.anchor) == ("2 Dec 2026", "Today, 20 Nov 2026", "middle")
    assert (drawn.read_x, drawn.read_percent) == (300.0, 30.0)
    assert drawn.line == "0.0,102.0 116.7,102.0 233.3,116.0 300.0,120.0"
    assert drawn.forecast_line == "300.0,120.0 1000.0,157.8"
    assert drawn.rows[-1] == ("20 Nov 2026", "400.0")
    row.used_gpu_hours = None
    assert burn_down_of(row, None, RECENT, NOW, NOW.date()) is None


def test_the_line_of_an_earlier_reading_is_not_called_today_and_its_name_stays_in_the_drawing() -> None:
    row = allocation(begins_on=date(2026, 10, 31), ends_on=date(2026, 11, 22), read_at=NOW - timedelta(days=1))
    drawn = burn_down_of(row, None, RECENT, NOW - timedelta(days=60), NOW.date())
    # Of the 20 days from 2 November the reading is on the 17th.
    assert (drawn.mark, drawn.read_x, drawn.anchor) == ("Read, 19 Nov 2026", 850.0, "middle")
    late = burn_down_of(allocation(ends_on=date(2026, 11, 20)), None, RECENT, NOW - timedelta(days=60), NOW.date())
    assert (late.anchor, late.read_label) == ("end", "20 Nov 2026")
