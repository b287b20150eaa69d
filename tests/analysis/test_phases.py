"""The phases of a run from its timeline: idle edges, the span between, gaps, and timelines that are too short."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.facts import JobFacts
from analysis.findings import FindingCode
from analysis.phases import Course, course, phases, span_percent, stalls
from analysis.rules import findings
from tests.analysis.runs import facts, found
from tests.payloads import gpu

LATE, TAIL = FindingCode.LATE_START, FindingCode.IDLE_TAIL


def over_time(util: list[float | None], step_s: float = 60.0, **record: Any) -> JobFacts:
    """One GPU with this timeline; the run is as long as the timeline."""
    elapsed_s = len(util) * step_s
    known = [value for value in util if value is not None]
    idle_s = step_s * sum(value <= 1 for value in known)
    use = {
        "measured_s": elapsed_s,
        "samples": round(elapsed_s),
        "idle_s": idle_s,
        "active_s": elapsed_s - idle_s,
        "util_histogram_s": None,
        "timeline": {"step_s": step_s, "util": util, "mem_gb": [1.0] * len(util)},
    }
    mean = float(np.mean(known)) if known else 0.0
    return facts([], gpus=[gpu(0, mean, **use)], walltime_used_s=elapsed_s, **record)


def test_a_late_start_in_numbers() -> None:
    # 60 of 120 minutes: half.
    finding = found(over_time([0.0] * 60 + [90.0] * 60), LATE)
    assert dict(finding.evidence) == {"idle_s": 3600.0, "idle_fraction": 0.5, "elapsed_s": 7200.0}
    assert finding.confidence == 1.0


def test_an_edge_is_as_sure_as_the_run_was_measured() -> None:
    # 24 of 120 minutes are a gap; the GPU's own count covers them.
    known = over_time([0.0] * 40 + [None] * 24 + [90.0] * 56)
    assert found(known, LATE).confidence == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("before", "after", "late_s", "tail_s"), [(0, 117, 0.0, 7020.0), (117, 0, 7020.0, 0.0), (40, 77, 2400.0, 4620.0)]
)
def test_where_the_whole_run_is_idle_on_average_its_busiest_bucket_parts_the_edges(
    before: int, after: int, late_s: float, tail_s: float
) -> None:
    # Three minutes at 30 percent in two hours: 0.75 percent on average.
    seen = phases(over_time([0.0] * before + [30.0] * 3 + [0.0] * after))
    assert (seen.late_start_s, seen.idle_tail_s) == (late_s, tail_s)
    assert list(seen.span) == [30.0] * 3


@pytest.mark.parametrize(
    ("idle", "busy", "holds"),
    [(24, 96, True), (23, 97, False), (10, 40, True), (9, 36, False)],
    ids=["20 percent", "19 percent", "10 minutes", "9 minutes"],
)
def test_an_edge_counts_from_a_fifth_of_the_run_and_ten_minutes(idle: int, busy: int, holds: bool) -> None:
    assert (found(over_time([0.0] * idle + [90.0] * busy), LATE) is not None) == holds
    assert (found(over_time([90.0] * busy + [0.0] * idle), TAIL) is not None) == holds


def test_both_edges_may_be_idle() -> None:
    codes = {finding.code for finding in findings(over_time([0.0] * 40 + [90.0] * 40 + [0.0] * 40))}
    assert {LATE, TAIL} <= codes


def test_no_second_is_idle_at_both_ends() -> None:
    # 0 and 2 % are 1 % on average from the end as well; the first minute is the start's already.
    seen = phases(over_time([0.0, 2.0]))
    assert (seen.late_start_s, seen.idle_tail_s, list(seen.span)) == (60.0, 0.0, [2.0])


def test_one_stray_reading_does_not_end_an_idle_tail() -> None:
    # 3 % in one of 60 idle minutes is 0.05 % on average.
    known = over_time([90.0] * 60 + [0.0] * 30 + [3.0] + [0.0] * 29)
    assert found(known, TAIL).evidence["idle_s"] == 3600.0


def test_a_gap_is_neither_busy_nor_idle() -> None:
    # 20 idle minutes and 20 that nobody measured: only the 20 count, and 100 of 120 minutes were seen.
    seen = phases(over_time([None] * 20 + [0.0] * 20 + [90.0] * 80))
    assert seen.late_start_s == 1200.0
    assert seen.measured_fraction == pytest.approx(100 / 120)
    assert found(over_time([90.0] * 60 + [None] * 60), TAIL) is None


def test_three_points_tell_an_idle_edge_and_no_course() -> None:
    known = over_time([0.0, 90.0, 90.0], step_s=2400.0)
    assert found(known, LATE).evidence["idle_s"] == 2400.0
    assert course(phases(known)) is Course.UNKNOWN
    assert found(known, FindingCode.IO_OR_SYNC_STALL) is None


@pytest.mark.parametrize("util", [[], [None], [0.0], [None] * 50, [0.0] * 50])
def test_a_timeline_without_work_has_no_phases(util: list) -> None:
    assert phases(over_time(util)) is None


def test_the_last_bucket_ends_with_the_run() -> None:
    # Buckets of 60 s, a run of 7170 s: the idle tail of two buckets is 60 + 30 s.
    known = over_time([90.0] * 118 + [0.0, 0.0])
    shorter = facts([], gpus=[gpu(0, 88.0, timeline={"step_s": 60.0, "util": [90.0] * 118 + [0.0] * 2})])
    assert phases(known).idle_tail_s == 120.0
    assert phases(shorter).idle_tail_s == 120.0
    cut = facts([], gpus=[gpu(0, 88.0, timeline=_points([90.0] * 118 + [0.0] * 2))], walltime_used_s=7170)
    assert phases(cut).idle_tail_s == 90.0


def _points(util: list[float]) -> dict[str, Any]:
    return {"step_s": 60.0, "util": util, "mem_gb": [1.0] * len(util)}


@pytest.mark.parametrize(
    ("util", "expected"),
    [
        ([85.0, 95.0] * 30, Course.STEADY),
        ([100.0] * 5 + [0.0] * 5 + [100.0] * 5 + [0.0] * 5 + [100.0] * 5, Course.BURSTS),
        ([90.0] * 20 + [20.0] * 40, Course.FALLING),
        ([40.0] * 20 + [90.0] * 40, Course.UNEVEN),
        ([90.0] * 5, Course.UNKNOWN),
        ([90.0] * 6, Course.STEADY),
        ([60.0] * 57 + [100.0] * 3, Course.STEADY),
        ([60.0] * 56 + [100.0] * 4, Course.UNEVEN),
        ([60.0] * 57 + [20.5] * 3, Course.STEADY),
        ([60.0] * 56 + [20.5] * 4, Course.UNEVEN),
        ([75.0] * 30 + [95.0] * 30, Course.STEADY),
        ([75.0] * 30 + [95.5] * 30, Course.UNEVEN),
        ([70.0] * 9 + [20.0, 70.0] * 3, Course.BURSTS),
        ([70.0] * 9 + [20.5, 70.0] * 3, Course.UNEVEN),
        ([80.0] * 20 + [40.0] * 40, Course.FALLING),
        ([80.0] * 20 + [40.5] * 40, Course.UNEVEN),
    ],
)
def test_the_course_of_a_run(util: list[float], expected: Course) -> None:
    assert course(phases(over_time(util))) is expected


def test_the_use_of_the_span_leaves_idle_edges_out_where_the_timeline_shows_them() -> None:
    assert span_percent(over_time([0.0] * 30 + [80.0] * 60 + [0.0] * 30)) == pytest.approx(80.0)
    # Six show one, with a pause in it.
    assert span_percent(over_time([90.0, 90.0, 0.0, 90.0, 90.0, 90.0])) == pytest.approx(75.0)
    # Five buckets show no span: 48 percent on average, and 40 percent of the time idle.
    assert span_percent(over_time([0.0, 80.0, 80.0, 80.0, 0.0])) == pytest.approx(80.0)
    bare = {"timeline": None, "util_histogram_s": None}
    assert span_percent(facts([], gpus=[gpu(0, 80.0, **bare), gpu(1, 60.0, **bare), gpu(2, 0.0, **bare)])) == 70.0
    # Nothing tells how long it was idle: the mean. No mean of its busy seconds is above 100.
    assert span_percent(facts([], gpus=[{"gpu_id": 0, "avg_util": 60.0}])) == 60.0
    odd = bare | {"idle_s": 6000.0, "active_s": 1200.0}
    assert span_percent(facts([], gpus=[gpu(0, 60.0, **odd)])) == 100.0
    all_idle = bare | {"idle_s": 7200.0, "active_s": 0.0}
    assert span_percent(facts([], gpus=[gpu(0, 0.0, **all_idle), gpu(1, 0.0, **all_idle)])) == 0.0


def test_stalls_are_counted_from_the_first_to_the_last_of_the_span() -> None:
    # At rest is at most 90 x 20 / 70 = 25.7; the span begins at rest and rests three times.
    seen = phases(over_time([20.0] * 2 + [90.0] * 4 + [10.0] + [90.0] * 6 + [25.0] * 3 + [90.0] * 4))
    assert stalls(seen) == (3, pytest.approx(6 / 20))
    assert stalls(phases(over_time([90.0, 0.0, 90.0, 0.0, 90.0]))) == (0, 0.0)


def test_two_busy_phases_with_a_gap_between_are_no_bursts_yet() -> None:
    # omnistat's own test signal: busy, idle, busy in 24 points of 10 s.
    seen = phases(over_time([90.0] * 10 + [0.0] * 4 + [90.0] * 10, step_s=10.0))
    assert course(seen) is Course.UNEVEN


@given(st.lists(st.none() | st.floats(0, 100), max_size=60))
def test_phases_are_parts_of_the_run_whatever_was_measured(util: list[float | None]) -> None:
    seen = phases(over_time(util))
    if seen is not None:
        assert 0 <= seen.late_start_s <= 60.0 * len(util)
        assert seen.late_start_s + seen.idle_tail_s <= 60.0 * len(util) + 1e-6
        assert 0 <= seen.measured_fraction <= 1
        assert course(seen) in Course
