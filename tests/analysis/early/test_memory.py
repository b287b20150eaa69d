"""Words about memory that heads for its end: lines with their error, and all that only looks like one."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.early.findings import EarlyCode
from analysis.early.thresholds import EARLY_LIMITS
from analysis.early.trend import steady_rise
from tests.analysis.early.running import HOUR_S, course, minutes, running, word, words

AT_WORK = [minutes((60, 80.0))] * 8


def line(start_gb: float, gb_per_min: float, count: int = 60, noise_gb: float = 0.0) -> list[float]:
    noise = np.random.default_rng(5).normal(0.0, noise_gb, count) if noise_gb else np.zeros(count)
    return [start_gb + gb_per_min * place + float(noise[place]) for place in range(count)]


def test_a_straight_rise_states_when_it_is_full() -> None:
    facts = running(*AT_WORK, memory=course(*line(222.0, 2.0)))
    assert words(facts) == ["host_memory_filling"]
    found = word(facts, EarlyCode.HOST_MEMORY_FILLING)
    # 222 + 59 x 2 = 340 GB now, 2 GB a minute are 120 an hour: 140 GB to 480 take 70 minutes, without any error.
    assert found.evidence["now_gb"] == pytest.approx(340.0)
    assert found.evidence["slope_gb_per_h"] == pytest.approx(120.0)
    assert found.evidence["full_in_s_low"] == pytest.approx(4200.0)
    assert found.evidence["full_in_s_high"] == pytest.approx(4200.0)
    assert (found.evidence["limit_gb"], found.evidence["node"], found.is_fact) == (480.0, "nid005123", False)


def test_the_whole_range_of_the_error_must_end_before_the_time_limit() -> None:
    memory = course(*line(222.0, 2.0, noise_gb=2.0))
    found = word(running(*AT_WORK, memory=memory), EarlyCode.HOST_MEMORY_FILLING)
    low_s, high_s = float(found.evidence["full_in_s_low"]), float(found.evidence["full_in_s_high"])
    assert low_s < 4200.0 < high_s
    assert words(running(*AT_WORK, memory=memory, limit_s=HOUR_S + high_s + 1)) == ["host_memory_filling"]
    assert words(running(*AT_WORK, memory=memory, limit_s=HOUR_S + high_s - 1)) == []
    assert words(running(*AT_WORK, memory=memory, limit_s=None)) == []


def test_a_line_is_not_continued_for_more_than_three_times_what_was_seen() -> None:
    # The fitted half hour ends at 300 GB; 180 GB in three times 1800 s are 120 GB an hour, 2 a minute.
    fast, slow = line(300.0 - 59 * 2.05, 2.05), line(300.0 - 59 * 1.95, 1.95)
    assert words(running(*AT_WORK, memory=course(*fast))) == ["host_memory_filling"]
    assert words(running(*AT_WORK, memory=course(*slow))) == []


@pytest.mark.parametrize(
    "gb",
    [
        [200.0] * 60,
        [*line(20.0, 25.0, 12), *[300.0] * 48],
        [*line(100.0, 6.0, 40), *line(340.0, 0.5, 20)],
        [*line(100.0, 10.0, 20), *line(100.0, 10.0, 20), *line(100.0, 10.0, 20)],
        [300.0 + (place % 10) for place in range(60)],
        [450.0 * (1 - np.exp(-place / 15)) for place in range(60)],
    ],
    ids=["flat", "staircase at the start", "levelling out", "freed again and again", "up and down", "saturating"],
)
def test_what_is_no_steady_rise_is_no_reason_for_a_word(gb: list[float]) -> None:
    assert words(running(*AT_WORK, memory=course(*gb))) == []


def test_data_that_is_loaded_before_the_gpus_work_is_no_leak() -> None:
    idle = [minutes((20, 0.0), (20, 80.0), (20, 0.0))] * 8
    memory = course(*line(222.0, 2.0))
    assert words(running(*idle, memory=memory)) == ["host_memory_filling"]
    assert words(running(*[minutes((25, 80.0), (35, 2.0))] * 8, memory=memory)) == []


@pytest.mark.parametrize(("limit_gb", "said"), [(600.0, ["host_memory_filling"]), (605.0, [])])
def test_below_half_of_the_limit_a_load_of_data_may_end_before_it(limit_gb: float, said: list[str]) -> None:
    # 300 GB now; at 6 GB a minute, 300 GB more take 50 minutes.
    memory = course(*[max(300.0 - 6 * (59 - place), 0.0) for place in range(60)])
    assert words(running(*AT_WORK, memory=memory, cpu={"memory_limit_gb": limit_gb})) == said


def test_less_than_half_an_hour_is_too_little() -> None:
    assert words(running(*[minutes((29, 80.0))] * 8, memory=course(*line(240.0, 4.0, 29)))) == []


def test_points_that_are_missing_do_not_matter() -> None:
    gb: list[float | None] = [value if place % 5 else None for place, value in enumerate(line(222.0, 2.0))]
    assert words(running(*AT_WORK, memory=course(*gb))) == ["host_memory_filling"]


def test_the_range_of_a_fit_holds_the_true_slope() -> None:
    hits = 0
    for seed in range(200):
        noise = np.random.default_rng(seed).normal(0.0, 1.0, 60)
        at_s = (np.arange(60) + 0.5) * 60
        trend = steady_rise(at_s, 100 + at_s / 60 + noise, EARLY_LIMITS)
        assert trend is not None
        hits += trend.slope_low_gb_per_h <= 60.0 <= trend.slope_high_gb_per_h
    # 95 % of 200 are 190; below 180 the error would be stated too small.
    assert hits >= 180


def test_gpu_memory_that_grows_up_to_the_end_of_its_capacity() -> None:
    growing = [34.0 + 0.45 * place for place in range(60)]
    facts = running(*AT_WORK, mem_gb=growing)
    found = word(facts, EarlyCode.GPU_MEMORY_FULL)
    # 34 + 59 x 0.45 = 60.55 GB of 64 at 27 GB an hour: 3.45 GB take 460 s.
    assert found.evidence["now_gb"] == pytest.approx(60.55)
    assert found.evidence["full_in_s_high"] == pytest.approx(460.0)
    assert (found.evidence["full_gpus"], found.evidence["gpu_list"]) == (8, "nid005123: 0-7")


@pytest.mark.parametrize(
    "mem_gb",
    [[62.0] * 60, [30.0, 45.0, *[62.0] * 58], [58.0 + 0.09 * place for place in range(60)]],
    ids=["full by design", "a cache that stays full", "nearly full from the start"],
)
def test_gpu_memory_that_is_full_by_design_is_no_reason_for_a_word(mem_gb: list[float]) -> None:
    assert words(running(*AT_WORK, mem_gb=mem_gb)) == []
