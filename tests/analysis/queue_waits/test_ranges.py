"""The range around a typical wait, from how far earlier estimates were off."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.queue_waits.ranges import Band, Held, band_of, estimate, factor_off, held_of
from analysis.queue_waits.rule import Alike, Typical


def test_the_range_leaves_out_a_tenth_of_the_errors_at_each_end() -> None:
    # Ratios 0.1, 0.2 … 4.0 of forty submissions: the fourth is 0.4, the thirty-sixth 3.6.
    ratios = np.arange(1, 41) / 10
    band = band_of(ratios, np.arange(40))
    assert band == Band(0.4, 3.6, 40)
    # Errors of one array of 900 tasks weigh as 30 submissions beside 40: at most 3/7 of the weight.
    array = band_of(np.append(ratios, np.full(900, 50.0)), np.append(np.arange(40), np.full(900, 99)))
    assert array is not None
    assert (array.low_factor, array.high_factor) == pytest.approx((0.7, 50.0))


def test_few_errors_give_no_range() -> None:
    assert band_of(np.ones(29), np.arange(29)) is None
    assert band_of(np.append(np.ones(29), np.nan), np.arange(30)) is None
    assert band_of(np.ones(400), np.zeros(400, dtype=int)) is None


def test_coverage_counts_each_submission_once() -> None:
    # 30 single submissions, 24 of them within; an array of 70 jobs, none within: 24 of 31.
    wait_s, typical_s = np.full(100, 600.0), np.full(100, 1200.0)
    within = np.arange(100) < 24
    submission = np.minimum(np.arange(100), 30)
    held = held_of(wait_s, typical_s, within, submission)
    assert held is not None
    assert held.coverage == pytest.approx(24 / 31)
    assert (held.factor_off, held.submissions, held.jobs) == (2.0, 31, 100)
    assert held_of(wait_s[:29], typical_s[:29], within[:29], submission[:29]) is None


def test_too_long_and_too_short_are_equally_far_off() -> None:
    wait_s = np.array([600.0, 600.0, 600.0, 5.0])
    assert factor_off(wait_s, np.array([1800.0, 200.0, 600.0, 60.0])).tolist() == [3.0, 3.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("band", "low_s", "high_s"),
    [
        (Band(0.5, 4.0, 40), 300.0, 2400.0),
        # A range that would begin within the first minute begins at zero.
        (Band(0.1, 4.0, 40), 0.0, 2400.0),
        # The typical wait is always within.
        (Band(1.5, 4.0, 40), 600.0, 2400.0),
        (Band(0.2, 0.8, 40), 120.0, 600.0),
    ],
)
def test_the_range_is_the_typical_wait_times_its_factors(band: Band, low_s: float, high_s: float) -> None:
    found = estimate(Typical(600.0, 20, 6, Alike.SIZE), band, Held(0.79, 2.1, 120, 900))
    assert (found.low_s, found.typical_s, found.high_s) == (low_s, 600.0, high_s)
    assert (found.starts, found.people, found.alike) == (20, 6, Alike.SIZE)
    assert (found.coverage, found.coverage_submissions) == (0.79, 120)
