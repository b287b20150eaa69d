"""Memory that ran short, threads beyond cores, and a request beyond its share of a shared node."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.facts import JobFacts
from analysis.findings import FindingCode
from tests.analysis.runs import codes, facts, found, of_nodes, rate
from tests.payloads import gpu, node_payload

PRESSURE = FindingCode.GPU_MEMORY_PRESSURE
SHARE, THREADS = FindingCode.CORES_OR_MEMORY_BEYOND_SHARE, FindingCode.HOST_OVERSUBSCRIPTION


@pytest.mark.parametrize(("peak_gb", "holds"), [(60.8, True), (60.7, False), (None, False)])
def test_gpu_memory_is_short_from_95_percent_of_its_capacity(peak_gb: float | None, holds: bool) -> None:
    # 0.95 x 64 = 60.8.
    known = facts([], gpus=[gpu(0, 90.0, peak_mem_gb=peak_gb)])
    assert (found(known, PRESSURE) is not None) == holds


def test_memory_pressure_in_numbers() -> None:
    # 62.4 / 64 = 0.975.
    finding = found(facts([], gpus=[gpu(0, 90.0, peak_mem_gb=62.4), gpu(1, 90.0)]), PRESSURE)
    assert finding.confidence == 1.0
    assert finding.evidence["peak_memory_fraction"] == pytest.approx(0.975)
    assert (finding.evidence["full_gpus"], finding.evidence["gpu_list"]) == (1, "nid005123: 0")


def crowded(threads: float, pressure_s: float | None, util: float = 50.0) -> JobFacts:
    cpu = {"cores_allocated": 56, "busy_cores_avg": 30.0, "ranks": 8, "threads_per_rank": threads}
    return facts([util] * 8, cpu=cpu | {"pressure_cpu_s": pressure_s})


@pytest.mark.parametrize(
    ("threads", "pressure_s", "holds"),
    [(14.0, 720.0, True), (14.0, 719.0, False), (7.0, 3600.0, False), (7.1, 3600.0, True), (14.0, None, False)],
)
def test_threads_beyond_the_cores_need_pressure_to_count(threads: float, pressure_s: float, holds: bool) -> None:
    # 8 x 7 threads are the 56 cores; 0.1 x 7200 s = 720 s.
    assert (found(crowded(threads, pressure_s), THREADS) is not None) == holds


def test_oversubscription_in_numbers() -> None:
    # Pressure 3960 / 7200 = 0.55: margin 0.5. Threads 112 on 56: margin 1 - 1/2 = 0.5.
    finding = found(crowded(14.0, 3960.0), THREADS)
    assert dict(finding.evidence) == {
        "ranks": 8,
        "threads": 112,
        "cores_allocated": 56,
        "cpu_pressure_fraction": pytest.approx(0.55),
        "node": "nid005123",
    }
    assert finding.confidence == pytest.approx(rate(0.5))


def test_no_task_waits_for_longer_than_the_run() -> None:
    assert found(crowded(14.0, 14_400.0), THREADS).evidence["cpu_pressure_fraction"] == 1.0


@pytest.mark.parametrize(("util", "holds"), [(69.9, True), (70.0, False)])
def test_threads_beyond_the_cores_are_no_cause_while_the_gpus_are_fed(util: float, holds: bool) -> None:
    assert (found(crowded(14.0, 3960.0, util), THREADS) is not None) == holds


def test_the_node_that_waits_most_for_its_cores_is_named_and_one_of_two_is_half_the_coverage() -> None:
    waiting = {"cores_allocated": 56, "busy_cores_avg": 30.0, "ranks": 8, "threads_per_rank": 14.0}
    nodes = [
        node_payload([50.0] * 8, node=f"nid00512{index}", cpu=waiting | {"pressure_cpu_s": pressure_s})
        for index, pressure_s in enumerate((1000.0, 3960.0, 7000.0))
    ]
    # The third waits most, but for other tasks: its threads are as many as its cores.
    nodes[2] = node_payload(
        [50.0] * 8, node="nid005122", cpu=waiting | {"threads_per_rank": 7.0, "pressure_cpu_s": 7000.0}
    )
    assert found(of_nodes(*nodes), THREADS).evidence["node"] == "nid005121"
    silent = node_payload([50.0] * 8, node="nid005122", cpu=None)
    assert found(of_nodes(nodes[1], silent), THREADS).confidence == pytest.approx(rate(0.5) / 2)


ONE_GPU: dict[str, Any] = {"cpus_allocated": 7, "memory_requested_gb": 256.0, "request": {"--mem": "256G"}}


def one_gpu(peak_gb: float | None, busy: float | None = 1.0, **changes: Any) -> JobFacts:
    cpu = {"cores_allocated": 7, "busy_cores_avg": busy, "peak_memory_gb": peak_gb}
    return facts([90.0], cpu=cpu, **ONE_GPU | changes)


def test_memory_beyond_the_share_in_numbers() -> None:
    # 256 GB is 4 slices; 1.2 x 30 = 36 GB is 1.
    finding = found(one_gpu(30.0), SHARE)
    assert dict(finding.evidence) == {
        "gpus": 1,
        "billed_slices": 4,
        "needed_slices": 1,
        "memory_gb": 256.0,
        "peak_memory_gb": 30.0,
    }
    assert finding.confidence == 1.0


@pytest.mark.parametrize(
    "known",
    [
        one_gpu(214.0),
        one_gpu(None),
        one_gpu(30.0, partition="standard-g"),
        one_gpu(30.0, request={"--mem": "256G", "--exclusive": ""}),
        one_gpu(10.0, memory_requested_gb=64.0, request={"--gpus": "1"}),
        one_gpu(10.0, partition="dev-g", request={"--gpus": "1"}),
        one_gpu(10.0, memory_requested_gb=64.0, request={}),
        one_gpu(10.0, memory_requested_gb=60.0),
    ],
    ids=[
        "used",
        "not measured",
        "whole node",
        "exclusive",
        "the site's default",
        "no default known",
        "default by size",
        "within",
    ],
)
def test_memory_that_was_used_given_or_not_billed_is_never_flagged(known: JobFacts) -> None:
    assert found(known, SHARE) is None


def test_cores_beyond_the_share_raise_the_bill_too() -> None:
    # 56 cores are 7 slices; 7 cores come with the GPU.
    wide = {"cpus_allocated": 56, "memory_requested_gb": 60.0, "request": {"--cpus-per-task": "56", "--mem": "60G"}}
    assert found(one_gpu(30.0, 1.2, **wide), SHARE).evidence["needed_slices"] == 1
    # 1.2 x 46 busy cores = 56: all of them are needed.
    assert found(one_gpu(30.0, 46.0, **wide), SHARE) is None


def test_a_crowded_host_harms_no_gpu_that_could_not_be_read() -> None:
    cpu = {"cores_allocated": 56, "ranks": 8, "threads_per_rank": 14.0, "pressure_cpu_s": 3960.0}
    silent = [gpu(0, None, missing={"avg_util": "no reading"})]
    assert THREADS not in codes(facts([], gpus=silent, cpu=cpu))
