"""The course of a run's use: 24 equal parts of the run, whatever the length of its readings."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.use_course import UNMEASURED, course_points, use_course


def test_a_run_of_two_halves() -> None:
    util = np.array([[100.0, 80.0], [0.0, 20.0]])
    assert list(use_course(util, 60.0, 120.0)) == [90] * 12 + [10] * 12


def test_the_last_reading_is_cut_off_with_the_run() -> None:
    # 60 s at 100 %, then 12 s at 0 %: each part is 3 s long, so 20 parts are full and 4 are idle.
    assert list(use_course(np.array([[100.0], [0.0]]), 60.0, 72.0)) == [100] * 20 + [0] * 4


def test_a_part_that_two_readings_share_is_weighted_by_time() -> None:
    # 24 parts of 2.5 s in 60 s, readings of 20 s: part 8 is 20.0..22.5, part 7 is 17.5..20.0; none is shared.
    # With readings of 21 s part 8 (20.0..22.5) has 1 s of the first and 1.5 s of the second: 40 %.
    course = list(use_course(np.array([[100.0], [0.0], [100.0]]), 21.0, 60.0))
    assert (course[7], course[8], course[9]) == (100, 40, 0)


def test_what_was_not_measured_stays_open_and_nothing_at_all_has_no_course() -> None:
    util = np.array([[50.0], [np.nan]])
    assert list(use_course(util, 60.0, 120.0)) == [50] * 12 + [UNMEASURED] * 12
    assert use_course(np.full((2, 3), np.nan), 60.0, 120.0) is None
    assert use_course(np.empty((0, 0)), 60.0, 120.0) is None


@pytest.mark.parametrize("stored", [None, b""])
def test_no_course_has_no_points(stored: bytes | None) -> None:
    assert course_points(stored) == ()
