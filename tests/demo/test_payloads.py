"""The numbers of one summary agree with each other, because they come from the same readings."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from demo.archetypes import Host
from demo.generate import make_job
from demo.library import ARCHETYPES
from demo.payloads import clock_of, cpu_summary, module_power_w, node_summary, readings_of
from wire.payloads import TIMELINE_POINTS_MAX

RECORD = {"cluster": "lumi", "job_id": 1, "attempt": 0, "started_at": "a", "ended_at": "b"}
MEASURED = [kind for kind, archetype in ARCHETYPES.items() if archetype.silent_nodes < archetype.nodes]


def gpus_of(kind: str) -> list[dict[str, Any]]:
    job = make_job(
        kind,
        job_id=1,
        user="alice",
        project="project_465000001",
        ended_at=datetime(2026, 11, 20, tzinfo=UTC),
        rng=np.random.default_rng(1),
    )
    return [gpu for summary in job.summaries for gpu in summary["gpus"] if "avg_util" in gpu]


@given(st.integers(min_value=1, max_value=3 * 86_400))
def test_a_timeline_covers_the_run_within_its_limit_in_steps_of_a_power_of_two(elapsed_s: int) -> None:
    clock = clock_of(elapsed_s)
    assert clock.bucket_s.size <= TIMELINE_POINTS_MAX
    assert clock.step_s == 1 or clock.bucket_s.size > TIMELINE_POINTS_MAX // 2
    assert clock.step_s & (clock.step_s - 1) == 0
    assert clock.bucket_s.sum() == elapsed_s
    assert clock.seconds.sum() == pytest.approx(elapsed_s)
    assert 0 < clock.instants[0] < 1
    assert 0 < clock.instants[-1] < 1


@pytest.mark.parametrize(("elapsed_s", "step_s", "points"), [(240, 1, 240), (241, 2, 121), (480, 2, 240), (1, 1, 1)])
def test_the_bucket_doubles_just_past_the_limit(elapsed_s: int, step_s: int, points: int) -> None:
    assert (clock_of(elapsed_s).step_s, clock_of(elapsed_s).bucket_s.size) == (step_s, points)


def test_a_summary_by_hand() -> None:
    # Four seconds on GPUs 0 and 1. GPU 0 reads 0, 1, 50, 100: mean 151/4 = 37.75, two seconds at most 1 percent are
    # idle, and 95 % of the time is only reached at 100. GPU 1 reads 100 throughout.
    util = np.array([[0, 100], [1, 100], [50, 100], [100, 100]], dtype=float)
    rng = np.random.default_rng(1)
    readings = readings_of(clock_of(4), util, (20.0, 20.0), rng)
    summary = node_summary(RECORD, "nid005123", readings, gpu_ids=range(2), unreadable=0, cpu={}, rng=rng)
    first, second = summary["gpus"]
    assert (first["avg_util"], first["p95_util"], first["samples"], first["measured_s"]) == (37.75, 100.0, 4, 4.0)
    assert (first["active_s"], first["idle_s"]) == (2.0, 2.0)
    assert first["util_histogram_s"] == {"0": 1.0, "1": 1.0, "50": 1.0, "100": 1.0}
    assert first["timeline"]["util"] == [0.0, 1.0, 50.0, 100.0]
    assert second["avg_util"] == 100.0
    assert (first["module_id"], first["pci_bus"], second["pci_bus"]) == (0, "0000:c1:00.0", "0000:c6:00.0")
    assert not {"power", "power_avg_w"} & {*second["missing"], *second}


def test_a_module_draws_between_idle_and_its_cap() -> None:
    rng = np.random.default_rng(1)
    util = np.array([[0.0, 0.0], [100.0, 0.0], [100.0, 100.0]])
    idle_w, half_w, full_w = module_power_w(readings_of(clock_of(3), util, (1, 1), rng), range(2), rng)[0]
    assert 90 <= idle_w <= 102
    assert 380 <= full_w <= 490
    assert half_w == pytest.approx((idle_w + full_w) / 2)


@pytest.mark.parametrize("kind", MEASURED)
def test_every_number_of_a_gpu_agrees_with_the_others(kind: str) -> None:
    for gpu in gpus_of(kind):
        measured_s, histogram_s, timeline = gpu["measured_s"], gpu["util_histogram_s"], gpu["timeline"]
        weights_s = np.full(len(timeline["util"]), timeline["step_s"])
        weights_s[-1] = measured_s - timeline["step_s"] * (weights_s.size - 1)
        assert sum(histogram_s.values()) == pytest.approx(measured_s, abs=0.1)
        assert gpu["active_s"] + gpu["idle_s"] == pytest.approx(measured_s)
        assert gpu["samples"] == measured_s
        assert np.average(timeline["util"], weights=weights_s) == pytest.approx(gpu["avg_util"], abs=0.06)
        assert np.average(timeline["mem_gb"], weights=weights_s) == pytest.approx(gpu["avg_mem_gb"], abs=0.006)
        assert gpu["avg_util"] <= 100
        assert max(timeline["mem_gb"]) <= gpu["peak_mem_gb"] + 0.006 <= gpu["mem_total_gb"] + 0.006
        assert gpu["mem_total_gb"] == 63.98
        assert gpu["module_id"] == gpu["gpu_id"] // 2
        assert 40 <= gpu["temperature_peak_c"] <= 75
        above_s = sum(seconds for percent, seconds in histogram_s.items() if int(percent) > gpu["p95_util"])
        from_p95_s = sum(seconds for percent, seconds in histogram_s.items() if int(percent) >= gpu["p95_util"])
        assert above_s <= 0.05 * measured_s + 0.1 <= from_p95_s + 0.2


@pytest.mark.parametrize("kind", MEASURED)
def test_power_and_energy_are_of_whole_modules_on_their_primary_gpu_only(kind: str) -> None:
    for gpu in gpus_of(kind):
        if "power_avg_w" in gpu:
            assert gpu["gpu_id"] % 2 == 0
            assert 90 <= gpu["power_avg_w"] <= gpu["power_peak_w"] <= gpu["power_cap_w"] == 500
            assert gpu["energy_j"] == pytest.approx(gpu["power_avg_w"] * gpu["measured_s"], rel=1e-6)
            assert "power" not in gpu["missing"]
        else:
            is_alone = len(gpus_of(kind)) == 1
            assert gpu["missing"].get("power") == ("shared module" if is_alone else None)
            assert "energy_j" not in gpu


def test_a_job_on_one_gpu_shares_its_module_with_a_stranger() -> None:
    (gpu,) = gpus_of("small_single_gpu")
    assert gpu["missing"]["power"] == "shared module"


def test_an_unreadable_gpu_names_what_is_missing_and_claims_no_number() -> None:
    util = np.full((10, 2), 90.0)
    rng = np.random.default_rng(1)
    readings = readings_of(clock_of(10), util, (20.0, 20.0), rng)
    summary = node_summary(RECORD, "nid005123", readings, gpu_ids=range(2), unreadable=1, cpu={}, rng=rng)
    gpu = summary["gpus"][1]
    assert "avg_util" in gpu["missing"]
    assert not {"avg_util", "p95_util", "measured_s", "samples", "util_histogram_s"} & gpu.keys()
    assert gpu["timeline"]["util"] == [None] * 10
    assert gpu["peak_mem_gb"] > 19
    assert summary["errors"] == ["gpu 1: use not readable"]


@given(
    busy=st.floats(min_value=0, max_value=1),
    iowait=st.floats(min_value=0, max_value=1),
    seed=st.integers(min_value=0, max_value=1000),
)
def test_the_fractions_of_a_host_add_up_to_one(busy: float, iowait: float, seed: int) -> None:
    host = Host(busy_fraction=(busy, busy), iowait_fraction=(iowait, iowait))
    cpu = cpu_summary(host, cores=56, ranks=8, memory_gb=480.0, elapsed_s=3600, rng=np.random.default_rng(seed))
    fractions = [cpu[f"{name}_fraction"] for name in ("user", "system", "iowait", "idle")]
    assert all(0 <= fraction <= 1 for fraction in fractions)
    assert sum(fractions) == pytest.approx(1.0, abs=1e-4)
    assert cpu["busy_cores_avg"] == pytest.approx(56 * (cpu["user_fraction"] + cpu["system_fraction"]), abs=1e-3)


def test_ranks_that_pin_one_core_keep_one_core_busy_each() -> None:
    host = Host(busy_cores_per_rank=(1.0, 1.0))
    cpu = cpu_summary(host, cores=56, ranks=8, memory_gb=480.0, elapsed_s=3600, rng=np.random.default_rng(1))
    assert cpu["busy_cores_avg"] == pytest.approx(8.0, abs=0.01)
    assert cpu["threads_per_rank"] == 1.0
