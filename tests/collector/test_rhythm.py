"""Work in a rhythm: no period and no phase is in step with the samples, and the accumulator's scale recovers."""

from __future__ import annotations

from pathlib import Path

import pytest

from collector.calibration import BUSY_S_MAX, Calibration
from collector.jitter import Jitter
from collector.totals import GpuTotals
from tests.collector.rhythm import Rhythm

HALF_AN_HOUR_S = 1800.0
TEXT_ALONE = bytes(4)


@pytest.mark.parametrize("period_s", [0.1, 0.2, 0.5, 1.0, 2.0, 3.3, 10.0, 60.0])
@pytest.mark.parametrize("phase", [0.0, 0.3, 0.75])
def test_half_an_hour_of_a_square_wave_is_right_to_half_a_point(tmp_path: Path, period_s: float, phase: float) -> None:
    gpu = Rhythm(tmp_path, period_s, period_s / 2, phase).sample(HALF_AN_HOUR_S, Calibration())
    # 1800 s are whole periods of all of them but 3.3 s, of which the rest is at most half a period, 0.05 points.
    assert gpu["avg_util"] == pytest.approx(50.0, abs=0.5)
    assert gpu["util_source"] == "accumulator"


def test_samples_alone_are_not_in_step_with_a_wave_of_their_own_interval(tmp_path: Path) -> None:
    means = []
    for phase in (0.0, 0.25, 0.5, 0.75):
        rhythm = Rhythm(tmp_path / str(phase), 1.0, 0.5, phase, scale=3e4)
        means.append(rhythm.sample(HALF_AN_HOUR_S, Calibration())["avg_util"])
    # A scale that is no power of ten is never trusted. 1,800 samples of a wave scatter by 50 / sqrt(1800) = 1.2 points;
    # on a fixed grid each of these would be 0 or 100.
    assert means == [pytest.approx(50.0, abs=4.7)] * 4


def test_short_pulses_on_the_second_teach_the_right_scale(tmp_path: Path) -> None:
    calibration = Calibration()
    gpu = Rhythm(tmp_path, 1.0, 0.1, 0.0).sample(2 * HALF_AN_HOUR_S, calibration)
    assert calibration.scale == 1e5
    assert gpu["avg_util"] == pytest.approx(10.0, abs=0.1)


def test_a_scale_that_was_learned_wrong_recovers(tmp_path: Path) -> None:
    # Ten times too small: pulses of 100 ms that every sample took for whole seconds.
    calibration = Calibration.from_state({"counts": 1e4 * BUSY_S_MAX, "busy": BUSY_S_MAX, "busy_s": BUSY_S_MAX})
    assert calibration.scale == 1e4
    steady = Rhythm(tmp_path, 1000.0, 900.0, scale=1e5)
    seen = set()
    for _ in range(12):
        gpu = steady.sample(4000.0, calibration)
        seen.add(calibration.scale)
        # Whatever the scale is meanwhile, the mean is right.
        assert gpu["avg_util"] == pytest.approx(90.0, abs=2.0)
    assert (calibration.scale, gpu["util_source"]) == (1e5, "accumulator")
    assert seen <= {1e4, None, 1e5}


def test_a_wrong_scale_never_replaces_samples_that_contradict_it(tmp_path: Path) -> None:
    calibration = Calibration.from_state({"counts": 1e6 * BUSY_S_MAX, "busy": BUSY_S_MAX, "busy_s": BUSY_S_MAX})
    gpu = Rhythm(tmp_path, 100.0, 90.0).sample(600.0, calibration)
    assert calibration.scale != 1e5
    assert (gpu["util_source"], gpu["avg_util"]) == ("samples", pytest.approx(90.0, abs=2.0))


@pytest.mark.parametrize("stored", [None, {}, {"scale": 1e4}, {"counts": -1, "busy": 5, "busy_s": 5}, "text", [1, 2]])
def test_what_was_not_learned_here_is_forgotten(stored: object) -> None:
    assert Calibration.from_state(stored).state() == Calibration().state()


def test_waiting_times_are_an_interval_in_the_mean_and_the_same_for_the_same_job() -> None:
    one, same, other = Jitter("42 0 nid005001"), Jitter("42 0 nid005001"), Jitter("42 0 nid005002")
    first, second, third = ([jitter.factor() for _ in range(4000)] for jitter in (one, same, other))
    assert first == second != third
    assert (min(first) >= 0.5, max(first) < 1.5) == (True, True)
    # The mean of 4,000 of them scatters by 1 / sqrt(12 x 4000) = 0.0046.
    assert sum(first) / 4000 == pytest.approx(1.0, abs=0.02)
    tenths = [sum(1 for factor in first if 0.5 + tenth / 10 <= factor < 0.6 + tenth / 10) for tenth in range(10)]
    assert all(300 < count < 500 for count in tenths)


def test_sums_of_a_tick_need_no_second_addition() -> None:
    totals = GpuTotals()
    totals.hist[40] += 3.0
    totals.hist[100] += 1.0
    # 3 x 40 + 1 x 100
    assert (totals.util_s, totals.measured_s) == (220.0, 4.0)
