"""Low, even use on many GPUs, and what the user's own runs of the same work say about their number and their time."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from analysis.comparable import (
    ComparableRun,
    OwnScaling,
    Throughput,
    doubts,
    is_hint,
    longest_run_s,
    own_scaling,
    typical_times_s,
)
from analysis.facts import JobFacts
from analysis.rightsizing import recommendations, run_seconds_after
from analysis.rules import findings
from analysis.savings import savings
from reports.advice import reason
from tests.analysis.runs import SPELLED, advice, facts
from tests.payloads import gpu

HOST = {"cores_allocated": 56, "busy_cores_avg": 7.9, "ranks": 8, "idle_fraction": 0.85, "peak_memory_gb": 80.2}


def overscaled(**changes: Any) -> JobFacts:
    gpus = [gpu(index, 17.5, peak_mem_gb=4.0) for index in range(8)]
    return facts([], gpus=gpus, **{"cpu": HOST, "request": SPELLED} | changes)


def test_overscaling_asks_for_the_gpus_that_would_be_busy_at_70_percent() -> None:
    # ceil(8 x 17.5 / 70) = 2. Busy GPU-seconds: 8 x 7200 x 0.175 = 10080; on 2 GPUs at 70 %: 7200 s, the same run.
    known = overscaled()
    (fewer,) = advice(known)
    assert (fewer.recommended_gpus, fewer.basis) == (2, "overscaling")
    saved = savings(known, (fewer,))
    assert (saved.run_s, saved.assumption) == (pytest.approx(7200.0), "same_busy_gpu_seconds")
    assert saved.gpu_hours == pytest.approx(6.0)


def test_where_all_gpus_work_each_rank_goes_with_its_gpu() -> None:
    (fewer,) = advice(overscaled())
    assert (fewer.wanted.gpus, fewer.wanted.ntasks, fewer.wanted.cores) == (2, 2, 14)


def test_the_run_stays_as_long_where_fewer_gpus_are_filled_less() -> None:
    # 8 x 30 % on ceil(240 / 70) = 4 GPUs: 8 x 7200 x 0.3 / (4 x 0.7) = 6171 s, below the run: the run time stays.
    gpus = [gpu(index, 30.0, peak_mem_gb=4.0) for index in range(8)]
    known = facts([], gpus=gpus, cpu=HOST | {"peak_memory_gb": 10.0}, request=SPELLED)
    saved = savings(known, advice(known))
    assert saved.run_s == pytest.approx(7200.0)
    # 8 now; 4 slices x 0.5 x 2 h = 4 then.
    assert saved.gpu_hours == pytest.approx(4.0)


def test_the_same_busy_seconds_on_fewer_gpus_than_they_fill_take_longer() -> None:
    # 8 x 7200 s x 17.5 % = 10,080 busy seconds: on one GPU at 70 % 14,400 s.
    known = overscaled()
    (fewer,) = advice(known)
    on_one = replace(fewer, wanted=replace(fewer.wanted, gpus=1))
    assert run_seconds_after(known, on_one) == pytest.approx(14_400.0)
    assert run_seconds_after(known, replace(on_one, basis="active_gpus")) == 7200.0
    assert run_seconds_after(known, None) == 7200.0


def test_a_cpu_bottleneck_is_not_answered_by_fewer_gpus() -> None:
    assert advice(overscaled(cpu=HOST | {"busy_cores_avg": 55.0})) == ()


def test_the_users_own_runs_override_the_guess_of_overscaling() -> None:
    # 8 GPUs 7200 s, 2 GPUs 8000 s, 4 GPUs 5000 s. Work on 2: 16000 GPU-s; 4: 16000 / 20000 = 0.8 scales, 8: 16000 /
    # 57600 = 0.28 does not. So 4, where the guess from this run alone would be 2.
    known, past = overscaled(), (ComparableRun(2, 8000.0), *[ComparableRun(4, 5000.0)] * 2)
    fewer = recommendations(known, findings(known), past=past)[0]
    assert (fewer.recommended_gpus, fewer.basis) == (4, "own_scaling")
    saved = savings(known, (fewer,))
    # 8 GPU-hours now; 4 slices x 0.5 x 5000 / 3600 h = 2.77778.
    assert (saved.assumption, saved.run_s) == ("own_run_time", 5000.0)
    assert saved.gpu_hours == pytest.approx(8 - 2.77778, abs=1e-4)


def test_own_runs_on_fewer_gpus_that_took_longer_raise_the_time_limit_with_them() -> None:
    # 2 GPUs took 10,000 s: 1.2 x 10,000 = 12,000 -> 12,600 s, above the limit of 10,800.
    known = overscaled()
    fewer = recommendations(known, findings(known), past=(ComparableRun(2, 10_000.0),))[0]
    assert (fewer.wanted.gpus, fewer.wanted.walltime_s) == (2, 12_600.0)


def test_a_run_of_no_length_or_without_gpus_says_nothing_about_scaling() -> None:
    assert own_scaling(ComparableRun(8, 7200.0), [ComparableRun(4, 0.0), ComparableRun(0, 100.0)]) is None
    assert own_scaling(ComparableRun(8, 0.0), [ComparableRun(4, 100.0)]) is None


def test_the_median_of_several_runs_on_one_number_counts() -> None:
    # On 2 GPUs 8000 s (the middle of 5): 16,000 GPU-seconds against 57,600 on eight: 0.28.
    past = [ComparableRun(2, time_s) for time_s in (8000.0, 90_000.0, 100.0, 7000.0, 80_000.0)]
    found = own_scaling(ComparableRun(8, 7200.0), past)
    assert (found.gpus, found.run_s) == (2, 8000.0)


def test_measured_throughput_counts_before_run_times() -> None:
    # On 2 GPUs 100 samples/s, 50 each; on 8 120, 15 each: 0.3. Their run times say nothing:
    # this run's 7200 s x 120 = 864,000 samples take 8640 s there.
    this = ComparableRun(8, 7200.0, throughput=Throughput("samples", 120.0))
    past = [ComparableRun(2, time_s, throughput=Throughput("samples", 100.0)) for time_s in (300.0, 9000.0)]
    found = own_scaling(this, past)
    assert (found.gpus, found.run_s, found.unit) == (2, pytest.approx(8640.0), "samples")
    assert doubts(this, found) == {"own_runs": 2, "is_noisy": 0, "is_longer": 0}


def test_a_run_that_its_limit_ended_counts_with_its_throughput_alone() -> None:
    this = ComparableRun(8, 7200.0, throughput=Throughput("tokens", 160.0))
    cut = ComparableRun(4, 3600.0, throughput=Throughput("tokens", 100.0), is_cut=True)
    # 160 / 8 = 20 against 25 each: 0.8, so eight still scale.
    assert own_scaling(this, [cut]).gpus == 8
    assert own_scaling(ComparableRun(8, 7200.0), [cut]) is None
    assert longest_run_s(100.0, 4, [cut]) == 100.0


def test_own_runs_that_show_scaling_silence_the_guess() -> None:
    known = overscaled()
    assert recommendations(known, findings(known), past=(ComparableRun(2, 28000.0),)) == ()


def test_runs_on_as_many_gpus_say_nothing_about_scaling() -> None:
    known = overscaled()
    (fewer, *_) = recommendations(known, findings(known), past=(ComparableRun(8, 7000.0),))
    assert fewer.basis == "overscaling"


def test_own_runs_speak_for_a_run_without_a_visible_cause() -> None:
    # 4 GPUs at 45 %, 7200 s; 2 GPUs took 7500 s: 15000 GPU-s against 28800, 0.52 of the speed a GPU: two are enough.
    known = facts([], gpus=[gpu(i, 45.0, peak_mem_gb=40.0) for i in range(4)], request={"--gpus": "4"})
    (fewer,) = recommendations(known, findings(known), past=(ComparableRun(2, 7500.0),))
    assert (fewer.basis, fewer.recommended_gpus) == ("own_scaling", 2)


def test_a_time_limit_that_an_own_run_needed_is_not_called_too_long() -> None:
    # 7200 s of 86400 s; an earlier run on as many GPUs took 72000 s, above 0.6 x 86400 = 51840.
    known = facts([92.0] * 8, cpu=HOST, walltime_requested_s=86400)
    past = (ComparableRun(8, 72_000.0),)
    assert findings(known, past=past) == ()
    assert recommendations(known, findings(known, past=past), past=past) == ()


HINTS = {
    "two runs on two GPUs, alike": (7200.0, ((2, 8000.0), (2, 8400.0)), (2, 0, 0)),
    "one run alone": (7200.0, ((2, 8000.0),), (1, 0, 0)),
    "the longest is exactly twice the shortest": (7200.0, ((2, 5600.0), (2, 11_200.0)), (2, 0, 0)),
    "the longest is more than twice the shortest": (7200.0, ((2, 5600.0), (2, 11_201.0)), (2, 1, 0)),
    "runs on as many GPUs as this one differ": (7200.0, ((2, 8000.0), (2, 8400.0), (8, 3599.0)), (2, 1, 0)),
    "runs on a third number of GPUs differ": (7200.0, ((2, 8000.0), (2, 8400.0), (16, 9.0), (16, 19.0)), (2, 1, 0)),
    "this run took exactly twice as long": (16_000.0, ((2, 8000.0), (2, 8000.0)), (2, 0, 0)),
    "this run took more than twice as long": (16_001.0, ((2, 8000.0), (2, 8000.0)), (2, 0, 1)),
    "runs of no length are no runs": (7200.0, ((2, 8000.0), (2, 0.0)), (1, 0, 0)),
    "one run of another length": (78_180.0, ((2, 22_560.0), (8, 19_980.0), (8, 74_580.0)), (1, 1, 1)),
}
"""This run took the first time on eight GPUs, the others (GPUs, seconds); (own runs, is noisy, is longer) for two."""


@pytest.mark.parametrize(("elapsed_s", "others", "expected"), HINTS.values(), ids=HINTS.keys())
def test_few_or_different_runs_are_a_hint(elapsed_s: float, others: tuple, expected: tuple[int, int, int]) -> None:
    runs = tuple(ComparableRun(*other) for other in others)
    found = doubts(ComparableRun(8, elapsed_s), OwnScaling(2, typical_times_s(runs)[2], runs))
    assert tuple(found.values()) == expected
    assert is_hint(found) is (expected != (2, 0, 0))


@pytest.mark.parametrize(("runs", "saved_gpu_hours"), [(1, None), (2, 8 - 2 * 0.5 * 8000 / 3600)])
def test_a_saving_is_stated_from_two_own_runs_on(runs: int, saved_gpu_hours: float | None) -> None:
    # 8 GPUs for 7200 s are 8.0 GPU-hours; two slices for 8000 s are 2.222.
    known, past = overscaled(), [ComparableRun(2, 8000.0)] * runs
    (fewer, *_) = recommendations(known, findings(known), past=past)
    assert (fewer.basis, fewer.recommended_gpus) == ("own_scaling", 2)
    saved = savings(known, (fewer,))
    assert (saved and saved.gpu_hours) == (saved_gpu_hours and pytest.approx(saved_gpu_hours))
    reads = reason(fewer, known)
    if saved:
        assert "Your own runs on 2 GPUs take 2 h 13 min (median), this one on 8 GPUs took 2 h 00 min: the" in reads
    else:
        assert (
            "Your own run on 2 GPUs took 2 h 13 min, this one on 8 GPUs took 2 h 00 min; this is only a hint" in reads
        )
        assert "only a hint without a stated saving, because there is only one run on 2 GPUs" in reads


def test_the_doubt_that_is_named_is_the_strongest() -> None:
    known = overscaled()
    for times_s, words in (
        ((5000.0, 10_001.0), "runs on the same number of GPUs differ by more than a factor of two"),
        ((3500.0, 3500.0), "this run took more than twice as long on more GPUs, which another input may explain"),
    ):
        past = [ComparableRun(2, time_s) for time_s in times_s]
        (fewer, *_) = recommendations(known, findings(known), past=past)
        assert words in reason(fewer, known)
