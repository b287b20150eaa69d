"""Timelines of different widths and starts on one clock; gaps stay gaps."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from metrics.series import NodeTimelines, align, whole_buckets_s


def timelines(offset_s: float, step_s: float, util: list[float]) -> NodeTimelines:
    column = np.asarray(util, dtype=np.float64)[:, None]
    return NodeTimelines(offset_s, step_s, column, column / 2)


def test_a_finer_timeline_is_averaged_into_the_widest_bucket() -> None:
    # 30 s buckets 10, 20, 30, 40 pair up to 15 and 35 beside 60 s buckets 50 and 60.
    series = align([timelines(0, 30, [10, 20, 30, 40]), timelines(0, 60, [50, 60])])
    assert series.step_s == 60
    assert series.util.tolist() == [[15, 50], [35, 60]]
    assert series.mem_gb[:, 0].tolist() == [7.5, 17.5]


def test_a_node_that_started_late_is_a_gap_first() -> None:
    series = align([timelines(0, 60, [10, 20]), timelines(60, 60, [30])])
    assert np.isnan(series.util[0, 1])
    assert series.util[1].tolist() == [20, 30]


def test_a_gap_is_left_out_of_the_average_and_never_zero() -> None:
    series = align([timelines(0, 30, [np.nan, 20, np.nan, np.nan]), timelines(0, 60, [50, 60])])
    assert series.util[0, 0] == 20
    assert np.isnan(series.util[1, 0])


def test_a_gpu_without_a_timeline_keeps_its_column() -> None:
    series = align([timelines(0, 60, []), timelines(0, 60, [50])])
    assert series.util.shape == (1, 2)
    assert np.isnan(series.util[0, 0])


def test_no_timeline_at_all_is_an_empty_series() -> None:
    assert align([]).util.shape == (0, 0)
    assert align([timelines(0, 0, [])]).util.shape == (0, 1)


@given(st.floats(0, 1e5), st.sampled_from([1.0, 2.0, 30.0, 64.0, 512.0]))
def test_an_offset_in_whole_buckets_lands_where_the_exact_one_does(offset_s: float, step_s: float) -> None:
    exact, whole = (
        align([timelines(0, step_s, [10]), timelines(offset, step_s, [20, 30])])
        for offset in (offset_s, float(whole_buckets_s(np.array(offset_s), step_s)))
    )
    assert np.array_equal(exact.util, whole.util, equal_nan=True)
