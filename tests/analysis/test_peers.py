"""What other tools were seen to get wrong on the same jobs, each one answered here.

Measured in 2026-11 on jobstats dfc9aa0, reportseff 7d586b7, omnistat e93110f, ClusterCockpit 3bfd3d06, Jobanalyzer
381ec7a2 and XDMoD's SUPReMM 33015b5d; classes at 14.9 to 70 percent are in `test_efficiency`.
"""

from __future__ import annotations

from typing import Any

import pytest

from analysis.assess import Assessment, assess
from analysis.findings import FindingCode
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, job_record, node_payload

HOST = {"cores_allocated": 56, "busy_cores_avg": 4.0, "ranks": 8, "idle_fraction": 0.92, "peak_memory_gb": 40.0}


def judged(gpus: list[dict[str, Any]], **record: Any) -> Assessment:
    count = len(gpus)
    shape = {"gpus_allocated": count, "gpus_requested": count, "cpus_allocated": 7 * count}
    shape |= {"memory_requested_gb": 60.0 * count}
    return assess(job_record(**shape | record), metrics_of(node_payload(gpus=gpus, cpu=HOST)))


def codes(assessment: Assessment) -> set[FindingCode]:
    return {finding.code for finding in assessment.findings}


def test_one_busy_gpu_of_eight_is_advised_as_one_and_not_only_averaged() -> None:
    # jobstats: "did not use 7 of 8", mean 12 %; reportseff: 11.9. Neither proposes a number.
    known = judged([gpu(i, 95.0 if i == 0 else 0.0, peak_mem_gb=4.0) for i in range(8)])
    assert known.efficiency.avg_gpu_util == pytest.approx(11.875)
    assert known.recommendations[0].recommended_gpus == 1


def test_one_idle_gpu_of_eight_shows_beside_an_efficient_class() -> None:
    known = judged([gpu(i, 95.0 if i else 0.0) for i in range(8)])
    assert known.efficiency.efficiency_class == "EFFICIENT"
    assert FindingCode.IDLE_GPUS in codes(known)


def test_a_stray_busy_second_does_not_hide_that_the_gpus_were_not_used() -> None:
    # jobstats says "only 0 %" at 0.1: its test for zero is exact.
    stray = {"idle_s": 7193.0, "active_s": 7.0, "util_histogram_s": {"0": 7193.0, "100": 7.0}}
    assert FindingCode.NO_GPU_USE in codes(judged([gpu(0, 0.1, **stray)]))


def test_missing_use_silences_neither_walltime_nor_memory_advice() -> None:
    silent = [gpu(0, None, missing={"avg_util": "no reading"})]
    options = {"--gpus": "1", "--mem": "256G", "--time": "24:00:00"}
    known = judged(
        silent, cpus_allocated=7, memory_requested_gb=256.0, walltime_requested_s=86400, request=options, ntasks=1
    )
    assert known.efficiency.efficiency_class == "UNKNOWN"
    assert codes(known) == {FindingCode.CORES_OR_MEMORY_BEYOND_SHARE, FindingCode.WALLTIME_OVERREQUEST}
    assert len(known.recommendations) == 2


@pytest.mark.parametrize(("used_s", "advised"), [(8496, True), (8784, False)], ids=["59 percent", "61 percent"])
def test_a_long_limit_is_answered_with_a_number(used_s: int, advised: bool) -> None:
    # 1.2 x 8496 = 10195 s; the next 15 minutes end at 10800.
    request = {"--gpus-per-node": "8", "--time": "04:00:00"}
    known = judged([gpu(0, 90.0)], walltime_used_s=used_s, walltime_requested_s=14400, request=request)
    assert [each.wanted.walltime_s for each in known.recommendations] == ([10800] if advised else [])


def test_a_node_that_idles_is_seen_behind_the_mean_of_each_gpu_id() -> None:
    # omnistat averages GPU 0 over all nodes: 100 % and 0 % show as 50 %.
    nodes = [node_payload([100.0] * 8), node_payload([0.0] * 8, node="nid005124")]
    record = job_record(
        partition="standard-g", nodes=["nid005123", "nid005124"], node_count=2, gpus_allocated=16, gpus_requested=16
    )
    known = assess(record, metrics_of(*nodes))
    idle = next(finding for finding in known.findings if finding.code is FindingCode.IDLE_GPUS)
    assert idle.evidence["gpu_list"] == "nid005124: 0-7"


def test_busy_gpus_with_quiet_cores_are_no_low_load() -> None:
    # ClusterCockpit tags a GPU training at 96 % with "Low CPU load"; XDMoD calls a pure GPU job inefficient.
    known = judged([gpu(i, 96.0) for i in range(4)])
    assert codes(known) == set()
    assert known.efficiency.efficiency_class == "EFFICIENT"


def test_the_last_gpu_counts_as_much_as_the_first() -> None:
    # XDMoD's example looks at gpu0 only.
    first, last = (judged([gpu(i, 90.0 if i == busy else 0.0) for i in range(4)]) for busy in (0, 3))
    assert first.efficiency.efficiency_class == last.efficiency.efficiency_class
    assert codes(first) == codes(last)


def test_one_gpu_of_four_just_under_two_hours_is_found() -> None:
    # Jobanalyzer wants a summed peak below 25 % and two whole hours: LLview's job of 1.999 h stays unseen.
    known = judged([gpu(i, 99.0 if i == 1 else 0.0) for i in range(4)], walltime_used_s=7196)
    assert {FindingCode.PARALLELISM_MISMATCH, FindingCode.IDLE_GPUS} <= codes(known)


def test_reserved_memory_with_low_use_is_not_called_overscaling() -> None:
    # job_defense_shield issue 2: frameworks that take all memory.
    known = judged([gpu(i, 20.0, peak_mem_gb=60.0) for i in range(8)])
    assert FindingCode.OVERSCALING not in codes(known)


def test_a_burst_before_an_idle_night_is_found() -> None:
    # jobstats issue 28: the mean of a short burst defeats the test for zero.
    timeline = {"step_s": 60.0, "util": [95.0] * 20 + [0.0] * 100, "mem_gb": [1.0] * 120}
    use = {"idle_s": 6000.0, "active_s": 1200.0, "util_histogram_s": {"95": 1200.0, "0": 6000.0}}
    known = judged([gpu(0, 15.8, timeline=timeline, **use)])
    assert FindingCode.IDLE_TAIL in codes(known)


def test_interactive_work_is_not_told_to_ask_for_less_time() -> None:
    known = judged([gpu(0, 90.0)], job_name="jupyter", walltime_requested_s=86400)
    assert codes(known) == set()
