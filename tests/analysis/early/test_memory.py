"""Words about memory that heads for its end: lines with their error, and all that only looks like one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.early.facts import EarlyFacts
from analysis.early.findings import EarlyCode
from analysis.early.thresholds import EARLY_LIMITS
from analysis.early.trend import steady_rise
from tests.analysis.early.running import HOUR_S, course, minutes, running, word, words

STEP_S = 240.0
"""60 parts of four minutes are four hours."""
AT_WORK = [minutes((60, 80.0))] * 8


def line(start_gb: float, gb_per_min: float, count: int = 60, noise_gb: float = 0.0) -> list[float]:
    noise = np.random.default_rng(5).normal(0.0, noise_gb, count) if noise_gb else np.zeros(count)
    return [start_gb + gb_per_min * place + float(noise[place]) for place in range(count)]


def growing(gb: list[float] | list[float | None], *utils: list[float | None], **rest: Any) -> EarlyFacts:
    """A job whose host memory had these values, one each four minutes, while its GPUs were at work."""
    return running(*(utils or [minutes((len(gb), 80.0))] * 8), memory=course(*gb, step_s=STEP_S), step_s=STEP_S, **rest)


def test_a_straight_rise_states_when_it_is_full() -> None:
    facts = growing(line(200.0, 4.0))
    assert words(facts) == ["host_memory_filling"]
    found = word(facts, EarlyCode.HOST_MEMORY_FILLING)
    # 200 + 59 x 4 = 436 GB now, 4 GB in four minutes are 60 an hour: 44 GB to 480 take 44 minutes, without any error.
    assert found.evidence["now_gb"] == pytest.approx(436.0)
    assert found.evidence["slope_gb_per_h"] == pytest.approx(60.0)
    assert found.evidence["full_in_s_low"] == pytest.approx(2640.0)
    assert found.evidence["full_in_s_high"] == pytest.approx(2640.0)
    assert (found.evidence["limit_gb"], found.evidence["node"], found.is_fact) == (480.0, "nid005123", False)
    # The first tenth of the time is left out: of points 0 to 59 the line begins at 6, of which the middle is at 26 min.
    assert found.evidence["since_s"] == pytest.approx(6.5 * STEP_S)


def test_the_whole_range_of_the_error_must_end_before_the_time_limit() -> None:
    gb = line(200.0, 4.0, noise_gb=2.0)
    found = word(growing(gb), EarlyCode.HOST_MEMORY_FILLING)
    low_s, high_s = float(found.evidence["full_in_s_low"]), float(found.evidence["full_in_s_high"])
    assert low_s < 2640.0 < high_s
    assert words(growing(gb, limit_s=4 * HOUR_S + high_s + 1)) == ["host_memory_filling"]
    assert words(growing(gb, limit_s=4 * HOUR_S + high_s - 1)) == []
    assert words(growing(gb, limit_s=None)) == []


def test_a_line_is_not_continued_for_longer_than_it_was_seen() -> None:
    # It is seen over 53 steps and ends at 300 GB: 180 GB in 53 steps are 3.4 GB each.
    fast, slow = line(300.0 - 59 * 3.45, 3.45), line(300.0 - 59 * 3.35, 3.35)
    assert (words(growing(fast)), words(growing(slow))) == (["host_memory_filling"], [])
    # What held before is not over: twice as long is enough then.
    assert words(growing(slow, held=["host_memory_filling"])) == ["host_memory_filling"]


@pytest.mark.parametrize(("limit_gb", "short", "long"), [(431.0, True, True), (432.0, False, True)])
def test_a_rise_of_less_than_three_and_a_half_hours_must_be_near_the_limit(
    limit_gb: float, short: bool, long: bool
) -> None:
    # Both end at 388 GB, nine tenths of 431.1; seen over 39 steps (2.6 hours) and over 53 (3.5 hours).
    def said(gb: list[float]) -> bool:
        return words(growing(gb, cpu={"memory_limit_gb": limit_gb})) == ["host_memory_filling"]

    assert (said(line(300.0, 2.0, 45)), said(line(270.0, 2.0, 60))) == (short, long)


@pytest.mark.parametrize(
    "gb",
    [
        [200.0] * 60,
        [*line(20.0, 25.0, 12), *[300.0] * 48],
        [*line(100.0, 6.0, 40), *line(340.0, 0.5, 20)],
        [*line(100.0, 10.0, 20), *line(100.0, 10.0, 20), *line(100.0, 10.0, 20)],
        [300.0 + (place % 10) for place in range(60)],
        [450.0 * (1 - np.exp(-place / 15)) for place in range(60)],
        [60.0 + 75 * (place // 11) for place in range(60)],
    ],
    ids=["flat", "staircase at the start", "levelling out", "freed again", "up and down", "saturating", "six steps"],
)
def test_what_is_no_steady_rise_is_no_reason_for_a_word(gb: list[float]) -> None:
    assert words(growing(gb)) == []


def test_data_that_is_loaded_before_the_gpus_work_is_no_leak() -> None:
    gb = line(200.0, 4.0)
    # Mean use over the last 53 parts: 20 x 80 / 53 = 30 percent; (3 x 80 + 50 x 2) / 53 = 6.4 percent.
    assert words(growing(gb, *[minutes((20, 0.0), (20, 80.0), (20, 0.0))] * 8)) == ["host_memory_filling"]
    assert words(growing(gb, *[minutes((10, 80.0), (50, 2.0))] * 8)) == []


def test_less_than_two_hours_are_too_little() -> None:
    # 30 steps of four minutes are two hours, 29 are not.
    assert words(growing(line(374.0, 2.0, 31))) == ["host_memory_filling"]
    assert words(growing(line(376.0, 2.0, 30))) == []


def test_points_that_are_missing_do_not_matter() -> None:
    gb: list[float | None] = [value if place % 5 else None for place, value in enumerate(line(200.0, 4.0))]
    assert words(growing(gb)) == ["host_memory_filling"]


def test_the_range_of_a_fit_holds_the_true_slope() -> None:
    hits = 0
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(0.0, 1.0, 60)
        at_s = (np.arange(60) + 0.5) * STEP_S
        trend = steady_rise(at_s, 100 + at_s / 60 + noise, EARLY_LIMITS)
        assert trend is not None
        hits += trend.slope_low_gb_per_h <= 60.0 <= trend.slope_high_gb_per_h
    # 95 % of 200 are 190; below 180 the error would be stated too small.
    assert hits >= 180


def test_gpu_memory_that_grows_up_to_the_end_of_its_capacity() -> None:
    facts = running(*AT_WORK, mem_gb=[36.0 + 0.45 * place for place in range(60)], step_s=STEP_S)
    found = word(facts, EarlyCode.GPU_MEMORY_FULL)
    # 36 + 59 x 0.45 = 62.55 GB of 64 at 0.45 GB in four minutes: 1.45 GB take 773 s.
    assert found.evidence["now_gb"] == pytest.approx(62.55)
    assert found.evidence["full_in_s_high"] == pytest.approx(1.45 / 0.45 * STEP_S)
    assert (found.evidence["full_gpus"], found.evidence["gpu_list"]) == (8, "nid005123: 0-7")


@pytest.mark.parametrize(("last_gb", "said"), [(60.9, ["gpu_memory_full"]), (60.7, [])])
def test_gpu_memory_below_what_pools_are_bounded_at_may_stop_there(last_gb: float, said: list[str]) -> None:
    # 95 percent of 64 GB are 60.8.
    mem_gb = [last_gb - 0.45 * (59 - place) for place in range(60)]
    assert words(running(*AT_WORK, mem_gb=mem_gb, step_s=STEP_S)) == said
    assert words(running(*AT_WORK, mem_gb=mem_gb, step_s=STEP_S, held=["gpu_memory_full"])) == ["gpu_memory_full"]


@pytest.mark.parametrize(
    "mem_gb",
    [[62.0] * 60, [30.0, 45.0, *[62.0] * 58], [58.0 + 0.09 * place for place in range(60)]],
    ids=["full by design", "a cache that stays full", "nearly full from the start"],
)
def test_gpu_memory_that_is_full_by_design_is_no_reason_for_a_word(mem_gb: list[float]) -> None:
    assert words(running(*AT_WORK, mem_gb=mem_gb, step_s=STEP_S)) == []
