"""In which hours of the week a run had its GPUs."""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from analysis.site.figures import MonthSums, SiteRun
from analysis.site.week import HOURS, by_hour, hours_between, parts_of_course

HELSINKI = ZoneInfo("Europe/Helsinki")
MONDAY, SUNDAY = 0, 6 * 24


def shares(start: datetime | None, end: datetime, zone: object) -> np.ndarray:
    return by_hour(start, end, zone, np.ones((24, 1)))[:, 0]


def fractions(start: datetime, end: datetime, zone: object = UTC) -> dict[int, float]:
    found = shares(start, end, zone)
    return {int(cell): round(float(found[cell]), 6) for cell in np.flatnonzero(found > 1e-9)}


def test_a_run_is_spread_evenly_over_the_hours_it_lasted() -> None:
    # Monday 2 November 2026, 10:30 to 12:30: a quarter, a half, a quarter.
    start = datetime(2026, 11, 2, 10, 30, tzinfo=UTC)
    assert fractions(start, start + timedelta(hours=2)) == {10: 0.25, 11: 0.5, 12: 0.25}
    # Helsinki is two hours ahead in winter; Kathmandu five and three quarters.
    assert fractions(start, start + timedelta(hours=2), HELSINKI) == {12: 0.25, 13: 0.5, 14: 0.25}
    # 16:15 to 18:15: three quarters of an hour, one hour, a quarter.
    assert fractions(start, start + timedelta(hours=2), ZoneInfo("Asia/Kathmandu")) == {16: 0.375, 17: 0.5, 18: 0.125}


def test_from_sunday_to_monday_and_round_the_week() -> None:
    start = datetime(2026, 11, 1, 23, 0, tzinfo=UTC)
    assert fractions(start, start + timedelta(hours=2)) == {SUNDAY + 23: 0.5, MONDAY: 0.5}
    # Eight days: the hours of one weekday twice.
    week = shares(start, start + timedelta(days=8), UTC)
    assert week.sum() == pytest.approx(1)
    assert week[SUNDAY + 23] == pytest.approx(2 / 192)
    assert week[MONDAY + 22] == pytest.approx(2 / 192)
    assert week[MONDAY + 23] == pytest.approx(1 / 192)


def test_summer_time_leaves_an_hour_out_and_gives_one_twice() -> None:
    # Sunday 25 October 2026 in Helsinki: 4:00 becomes 3:00, so 3:00 to 4:00 lasts two hours. 0:30 UTC is 3:30.
    start = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    assert fractions(start, start + timedelta(hours=2), HELSINKI) == {SUNDAY + 3: 0.75, SUNDAY + 4: 0.25}
    october = hours_between(datetime(2026, 10, 1, tzinfo=HELSINKI), datetime(2026, 11, 1, tzinfo=HELSINKI))
    # October 2026 begins on a Thursday: five Thursdays, Fridays and Saturdays, four Sundays; 745 hours.
    assert (october[3 * 24], october[SUNDAY + 2], october[SUNDAY + 3], october.sum()) == (5, 4, 5, 745)
    march = hours_between(datetime(2026, 3, 1, tzinfo=HELSINKI), datetime(2026, 4, 1, tzinfo=HELSINKI))
    assert (march[SUNDAY + 2], march[SUNDAY + 3], march.sum()) == (5, 4, 743)


def test_a_run_without_a_start_and_one_of_no_length_count_at_their_end() -> None:
    end = datetime(2026, 11, 2, 10, 30, tzinfo=UTC)
    for started_at in (None, end, end + timedelta(hours=1)):
        assert shares(started_at, end, UTC)[10] == pytest.approx(1)


def test_use_follows_the_course_and_is_the_mean_where_there_is_none() -> None:
    course = bytes([100] * 12 + [255] * 12)
    # Measured in full: what the course does not state is the mean.
    found = parts_of_course(course, 60.0, 1.0)
    assert (list(found[0]), list(found[-1])) == ([1.0, 0.0, 0.0], [0.6, 0.4, 0.0])
    # Half was measured, and the course states which.
    found = parts_of_course(course, 100.0, 0.5)
    assert (list(found[0]), list(found[-1])) == ([1.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    # A quarter was measured, half of the GPUs in half of the time.
    assert list(parts_of_course(course, 100.0, 0.25)[0]) == [0.5, 0.0, 0.5]
    assert list(parts_of_course(None, 25.0, 1.0)[7]) == [0.25, 0.75, 0.0]
    assert list(parts_of_course(None, 25.0, 0.5)[7]) == [0.125, 0.375, 0.5]
    assert list(parts_of_course(None, None, 1.0)[7]) == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("others", [1, 6])
def test_hours_without_a_project_of_the_policy_figures_are_sums_too(others: int) -> None:
    """Project 1 has six people in four hours of Monday; project 2 six on Tuesday, and one or all on Monday as well."""
    sums = MonthSums(datetime(2026, 10, 1, tzinfo=UTC), datetime(2026, 11, 1, tzinfo=UTC))
    monday = datetime(2026, 10, 5, 12, 0, tzinfo=UTC)
    rows = [(user, 1, monday) for user in range(6)]
    rows += [(user, 2, monday + timedelta(days=1)) for user in range(7, 13)]
    rows += [(user, 2, monday) for user in range(7, 7 + others)]
    for user, project, end in rows:
        times = (end - timedelta(hours=4), end)
        sums.add(SiteRun(user, project, "p", "EFFICIENT", 8, "", 40.0, 8.0, 80.0, 1.0, False, None, *times, None, ""))
    week = sums.figures(random.Random(1).random).week
    # Nothing but the project tells the runs apart: of one person 40 GPU-hours are left of Monday, of six 240.
    assert week is not None
    assert week.withheld == ("other_group" if others == 1 else "")


def test_the_hours_of_the_week_are_one_more_division_of_the_same_hours() -> None:
    sums = MonthSums(datetime(2026, 10, 1, tzinfo=HELSINKI), datetime(2026, 11, 1, tzinfo=HELSINKI))
    end = datetime(2026, 10, 5, 12, 0, tzinfo=UTC)
    course = bytes([80] * 24)
    sums.add(
        SiteRun(
            1, 1, "p", "EFFICIENT", 8, "", 40.0, 8.0, 80.0, 1.0, False, None, end - timedelta(hours=4), end, course, ""
        )
    )
    ((key, hours),) = sums.hours.items()
    assert sums.atoms[key] == (32.0, 8.0, 0.0)
    # Monday 11:00 to 15:00 in Helsinki, 10 GPU-hours each, of which 8 were used.
    assert {int(cell) for cell in np.flatnonzero(hours.sum(axis=1))} == {11, 12, 13, 14}
    assert hours.shape == (HOURS, 3)
    assert hours[12] == pytest.approx([8.0, 2.0, 0.0])
