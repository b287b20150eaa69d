"""Sums that never grow, and a timeline that halves itself when it is full."""

from __future__ import annotations

import marshal

import pytest

from collector.summary import percentile
from collector.totals import POINTS_MAX, GpuTotals, Timeline, buckets

GB = 2**30


def test_samples_are_weighted_by_the_time_they_stand_for() -> None:
    totals = GpuTotals()
    totals.add(1.0, 90, 10 * GB)
    totals.add(3.0, 10, 2 * GB)
    # (1 x 90 + 3 x 10) / 4 = 30; memory (10 + 6) / 4 = 4 GB, at most 10.
    assert totals.util_s / totals.measured_s == pytest.approx(30.0)
    assert totals.mem_byte_s / totals.mem_s == pytest.approx(4 * GB)
    assert totals.mem_peak == 10 * GB
    assert (totals.hist[90], totals.hist[10], sum(totals.hist)) == (1.0, 3.0, 4.0)


def test_a_percent_between_two_whole_ones_keeps_its_value() -> None:
    totals = GpuTotals()
    totals.add_util(2.0, 10.4)
    totals.add_util(2.0, 89.7)
    # 2 x 10.4 + 2 x 89.7 = 200.2, in the bins of 10 % and 90 %.
    assert totals.util_s == pytest.approx(200.2)
    assert GpuTotals.from_state(totals.state()).util_s == pytest.approx(200.2)
    assert (totals.hist[10], totals.hist[90]) == (2.0, 2.0)


def test_a_percentile_is_the_lowest_percent_that_covers_it() -> None:
    histogram_s = [0.0] * 101
    histogram_s[20], histogram_s[60], histogram_s[100] = 90.0, 5.0, 5.0
    assert percentile(histogram_s, 0.95) == 60.0
    assert percentile(histogram_s, 0.951) == 100.0
    assert percentile(histogram_s, 0.5) == 20.0


def test_a_timeline_means_each_bucket_and_leaves_gaps_empty() -> None:
    totals = GpuTotals()
    timeline = Timeline([totals], 2.0)
    for second, util in enumerate([50, 70, 10, 30], 1):
        timeline.advance(float(second))
        totals.add(1.0, util, GB)
    timeline.advance(9.0)
    totals.add(1.0, 100, GB)
    timeline.finish()
    rows = [(util_s / s if s else None) for util_s, s, _, _ in buckets(timeline.state(), 0)]
    assert rows == [60.0, 20.0, None, None, 100.0]


def test_a_full_timeline_doubles_its_step_and_keeps_the_sums() -> None:
    totals = GpuTotals()
    timeline = Timeline([totals], 1.0)
    for second in range(1, POINTS_MAX + 1):
        timeline.advance(float(second))
        totals.add(1.0, 100 if second % 2 else 0, GB)
    timeline.advance(POINTS_MAX + 0.5)
    assert (timeline.step_s, len(buckets(timeline.state(), 0))) == (2.0, POINTS_MAX // 2)
    assert buckets(timeline.state(), 0)[0][:2] == (100.0, 2.0)
    assert sum(bucket[0] for bucket in buckets(timeline.state(), 0)) == totals.util_s


def test_a_week_at_one_hertz_fits_in_what_a_minute_takes() -> None:
    totals = GpuTotals()
    timeline = Timeline([totals], 1.0)
    sizes = {}
    for second in range(1, 7 * 86400 + 1):
        if second % 16 == 0:
            totals.add(16.0, second % 101, GB)
            timeline.advance(float(second))
        if second in (3600, 7 * 86400):
            sizes[second] = len(marshal.dumps([totals.state(), timeline.state()], 2))
    # 604800 s: the step doubles 13 times, to 8192 s, 73 full buckets.
    assert timeline.step_s == 8192.0
    assert len(buckets(timeline.state(), 0)) == 73
    assert sizes[7 * 86400] < 1.3 * sizes[3600]


def test_a_state_goes_through_a_file_and_back() -> None:
    totals = GpuTotals()
    timeline = Timeline([totals], 1.0)
    totals.add(1.0, 42, GB)
    totals.miss("power", "first reason")
    totals.miss("power", "second reason")
    timeline.advance(1.5)
    stored = marshal.loads(marshal.dumps([totals.state(), timeline.state()], 2))
    again = GpuTotals.from_state(stored[0])
    line = Timeline.from_state([again], stored[1])
    again.add(1.0, 44, GB)
    line.advance(2.5)
    assert again.util_s == 86.0
    assert [bucket[0] for bucket in buckets(line.state(), 0)] == [42.0, 44.0]
    assert again.reasons == {"power": "first reason"}
