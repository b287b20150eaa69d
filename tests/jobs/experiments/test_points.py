"""Points of metrics: what is exact however many come, what is kept, and what comes twice."""

from __future__ import annotations

from math import isnan, nan

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.experiments.points import (
    Point,
    Points,
    merged,
    packed,
    packed_call,
    points_of,
    thinned,
    thinned_call,
    unpacked,
    unpacked_calls,
)


def loss(*values: float, start: int = 0, every_ms: int = 1000) -> Points:
    """One value each second, steps from `start` on."""
    return points_of(
        [Point("loss", start + place, (start + place) * every_ms, value) for place, value in enumerate(values)]
    )


def test_what_was_packed_is_unpacked_with_nan_and_infinity() -> None:
    points = loss(0.5, nan, float("inf"))
    again = unpacked(packed(points))
    assert again.steps.tolist() == [0, 1, 2]
    assert again.times_ms.tolist() == [0, 1000, 2000]
    assert again.values[0] == 0.5
    assert isnan(again.values[1])
    assert again.values[2] == float("inf")


def test_calls_are_sorted_by_metric_and_time() -> None:
    first = packed_call([Point("loss", 2, 2000, 0.2), Point("acc", 2, 2000, 0.9)])
    second = packed_call([Point("loss", 1, 1000, 0.4)])
    found = unpacked_calls([first, second])
    assert found["loss"].steps.tolist() == [1, 2]
    assert found["acc"].values.tolist() == [0.9]


def test_the_digest_of_a_series_is_exact_after_ten_thousand_points() -> None:
    """A sine of 10,000 points in calls of 100; the extremes are those of all points, not of the kept ones."""
    values = [float(np.sin(place / 50)) for place in range(10_000)]
    series = None
    for first in range(0, 10_000, 100):
        series = merged(series, loss(*values[first : first + 100], start=first))
    assert series is not None
    assert series.digest.count == 10_000
    assert (series.digest.first_step, series.digest.last_step) == (0, 9_999)
    assert series.digest.last_value == values[-1]
    assert series.digest.least_value == min(values)
    assert series.digest.least_step == values.index(min(values))
    assert series.digest.most_value == max(values)
    assert len(series.points) <= 1000
    assert series.is_thinned
    assert min(values) in series.points.values
    assert max(values) in series.points.values


def test_old_points_are_not_thinned_more_than_new_ones() -> None:
    """After a hundred rounds of thinning the first tenth has at least half as many points as the fifth one."""
    series = None
    for first in range(0, 20_000, 200):
        series = merged(series, loss(*np.random.default_rng(first).random(200).tolist(), start=first))
    assert series is not None
    counts, _ = np.histogram(series.points.times_ms, bins=10, range=(0, 20_000_000))
    assert counts[0] >= counts[4] / 2
    assert counts.min() >= 20


def test_a_pause_stays_where_it_was() -> None:
    """3,000 points a second apart, ten minutes without any, 3,000 more: the longest gap is still those ten minutes."""
    times_ms = [*range(0, 3_000_000, 1000), *range(3_600_000, 6_600_000, 1000)]
    points = points_of([Point("loss", place, time_ms, 0.5) for place, time_ms in enumerate(times_ms)])
    kept = thinned(points, 1000)
    gaps = np.diff(kept.times_ms)
    place = int(np.argmax(gaps))
    # Parts of the time are 6,600 s / 125 = 52.8 s long: either side is exact to two of them.
    assert abs(int(kept.times_ms[place]) - 2_999_000) <= 105_600
    assert abs(int(kept.times_ms[place + 1]) - 3_600_000) <= 105_600


def test_a_call_that_comes_again_counts_once() -> None:
    points = loss(0.9, nan, 0.7)
    series = merged(merged(None, points), points)
    assert series.digest.count == 3
    assert series.digest.nan_count == 1


def test_a_call_with_the_same_point_twice_counts_it_once() -> None:
    twice = points_of([Point("loss", 1, 1000, nan), Point("loss", 1, 1000, nan), Point("loss", 1, 1000, 0.5)])
    assert merged(None, twice).digest.count == 2


@pytest.mark.parametrize(
    ("calls", "since"),
    [
        ([[0.5, 0.4]], None),
        ([[0.5, nan, nan]], 1),
        ([[0.5, nan], [nan, nan]], 1),
        ([[0.5, nan], [nan, 0.4]], None),
        ([[nan], [nan]], 0),
        ([[0.5, nan, 0.4], [0.3, nan]], 4),
    ],
)
def test_it_is_known_since_when_values_are_nan_for_good(calls: list[list[float]], since: int | None) -> None:
    series, start = None, 0
    for values in calls:
        series = merged(series, loss(*values, start=start))
        start += len(values)
    assert series is not None
    assert series.digest.nan_since_step == since
    assert series.digest.nan_since_ms == (None if since is None else since * 1000)


def test_nan_is_neither_the_least_nor_the_greatest() -> None:
    digest = merged(None, loss(nan, 0.5, nan)).digest
    assert (digest.least_value, digest.most_value, digest.nan_count) == (0.5, 0.5, 2)
    assert merged(None, loss(nan)).digest.least_value is None


def test_points_of_an_earlier_time_that_arrive_late_change_the_beginning_only() -> None:
    series = merged(merged(None, loss(0.5, 0.4, start=10)), loss(0.9, start=0))
    assert series.digest.first_step == 0
    assert (series.digest.last_step, series.digest.last_value) == (11, 0.4)
    assert series.digest.most_value == 0.9


def test_a_call_is_thinned_to_ends_and_extremes_of_each_metric() -> None:
    rows = [Point(name, step, step, float((step - 7) ** 2)) for name in ("a", "b") for step in range(20)]
    assert [(row.name, row.step) for row in thinned_call(rows)] == [
        *(("a", step) for step in (0, 7, 19)),
        *(("b", step) for step in (0, 7, 19)),
    ]


@given(
    st.lists(
        st.tuples(
            st.integers(-(2**53), 2**53), st.integers(10**12, 10**12 + 10**7), st.floats(allow_nan=True, width=64)
        ),
        min_size=1,
        max_size=300,
    ),
    st.integers(8, 50),
)
def test_extremes_and_ends_are_kept_of_any_points(rows: list[tuple[int, int, float]], most: int) -> None:
    points = points_of([Point("x", *row) for row in rows])
    kept = thinned(points, most)
    assert len(kept) <= max(most, 0)
    assert kept.times_ms[0] == points.times_ms[0]
    assert kept.times_ms[-1] == points.times_ms[-1]
    numbers = points.values[~np.isnan(points.values)]
    if numbers.size:
        assert numbers.min() in kept.values
        assert numbers.max() in kept.values


def test_as_many_points_are_kept_as_the_documents_state() -> None:
    """At most 1,000; 220 of regular steps, also after many rounds; 120 where nearly all of them are of one moment."""
    counts = []
    series = None
    for first in range(0, 10_000, 37):
        series = merged(series, loss(*map(float, range(37)), start=first))
        counts += [len(series.points)] * series.is_thinned
    assert 220 <= min(counts) <= max(counts) <= 1000
    assert len(merged(None, loss(*map(float, range(5000)))).points) == 250
    # 76 parts of the time with one point each, and 24 with 38 or 39: too few for any to be divided.
    rows = [Point("loss", place, 1000 * place, 0.5) for place in range(76)]
    rows += [Point("loss", place, 1000 * (76 + 2 * (place % 24)) + place // 24, 0.5) for place in range(925)]
    rows.append(Point("loss", 0, 124_999, 0.5))
    assert 120 <= len(merged(None, points_of(rows)).points) <= 250
