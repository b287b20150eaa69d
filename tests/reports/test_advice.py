"""What each piece of advice says for itself, and what its saving takes for granted."""

from __future__ import annotations

from typing import Any

import pytest

from analysis.rightsizing import Recommendation, RecommendationKind
from jobs.sbatch import OptionChange, Shape
from reports.advice import REASONS, assumption, reason
from tests.payloads import gpu
from tests.reports.builders import judged

ADVICE = {
    "active_gpus": ({"gpus": 8, "active_gpus": 2, "threshold_percent": 30.0}, "Only 2 GPUs showed sustained"),
    "cpu_work": ({"gpus": 8, "busy_cores": 50.4}, "50.4 CPU cores were busy: this work belongs on the CPU partition"),
    "smaller_gpu": (
        {
            "avg_util_percent": 5.0,
            "peak_memory_gb": 3.0,
            "smaller_memory_gb": 10.0,
            "smaller_share_fraction": 0.142857,
        },
        "a part of a GPU with 10.0 GB and 14 % of the compute is enough",
    ),
    "more_memory": (
        {"memory_gb": 60.0, "recommended_memory_gb": 90.0, "share_gb": 60.0},
        "Host memory ran out at 60.0 GB; try 90.0 GB first, which raises the bill",
    ),
    "more_time": (
        {"walltime_requested_s": 7200.0, "recommended_walltime_s": 10_800.0},
        "The GPUs worked until the limit of 2 h 00 min; how long the work takes is not known, so try 3 h 00 min",
    ),
    "own_longer_runs": (
        {"walltime_requested_s": 7200.0, "longest_run_s": 9000.0},
        "took 2 h 30 min; the limit of 2 h 00 min was too short",
    ),
    "gpu_memory": (
        {"gpus": 8, "active_gpus": 2, "memory_gpus": 6, "peak_memory_total_gb": 320.0},
        "the 320.0 GB of GPU memory that was used fit on 6 GPUs",
    ),
    "no_gpu_use": ({"gpus": 8}, "No GPU showed sustained utilization"),
    "overscaling": (
        {"gpus": 8, "avg_util_percent": 17.5, "target_percent": 70.0, "busy_gpus": 2},
        "The work of 8 GPUs at 17.5 % fits on 2 GPUs at 70 %",
    ),
    "peak_memory": (
        {"memory_gb": 256.0, "peak_memory_gb": 30.0, "recommended_memory_gb": 36.0, "headroom_factor": 1.2},
        "at most 30.0 GB of the 256.0 GB",
    ),
    "run_time": (
        {
            "walltime_requested_s": 86_400.0,
            "walltime_used_s": 7200.0,
            "recommended_walltime_s": 9000.0,
            "headroom_factor": 1.2,
        },
        "a limit of 2 h 30 min",
    ),
    "own_runs": (
        {"longest_run_s": 10_800.0, "recommended_walltime_s": 13_500.0},
        "The longest of your last comparable runs took 3 h 00 min; a limit of 3 h 45 min",
    ),
    "own_scaling": (
        {"gpus": 8, "scaling_gpus": 2, "run_s": 9000.0, "elapsed_s": 7200.0},
        "Your own runs on 2 GPUs take 2 h 30 min (median), this one on 8 GPUs took 2 h 00 min",
    ),
    "busy_cores": ({"cores": 32, "busy_cores": 3.1, "recommended_cores": 7}, "kept 3.1 of 32 cores busy"),
    "host_share": (
        {"memory_gb": 256.0, "peak_memory_gb": 30.0, "cores": 32, "busy_cores": 3.1},
        "30.0 GB of 256.0 GB of host memory and kept 3.1 of 32 cores busy",
    ),
    "out_of_memory": (
        {"memory_gb": 64.0, "recommended_memory_gb": 77.0, "share_gb": 240.0},
        "ran out at 64.0 GB; up to 240.0 GB come with the GPUs",
    ),
}


def advised(basis: str, partition: str = "small-g", gpus: int = 2) -> Recommendation:
    shape = Shape(nodes=1, gpus=gpus, partition=partition)
    changes = (OptionChange("--gpus", "8", str(gpus)),)
    return Recommendation(RecommendationKind.GPUS, basis, ADVICE[basis][0], shape, changes)


@pytest.mark.parametrize("basis", ADVICE)
def test_every_basis_gives_its_reason(basis: str) -> None:
    assert set(ADVICE) == set(REASONS)
    assert ADVICE[basis][1] in reason(advised(basis), judged().facts)


def test_the_reason_for_fewer_gpus_reads_as_agreed() -> None:
    assert reason(advised("active_gpus"), judged().facts) == "Only 2 GPUs showed sustained utilization > 30 %."


COUNTED_WORK = {"gpus": 8, "target_percent": 70.0, "threshold_percent": 30.0}


@pytest.mark.parametrize(
    ("basis", "evidence", "gpus", "expected"),
    [
        # 3 active of 8; 4 divides 8.
        (
            "active_gpus",
            {"active_gpus": 3, "busy_gpus": 3, "needed_gpus": 3, "avg_util_percent": 25.0},
            4,
            "Only 3 GPUs showed sustained utilization > 30 %; 4 is the nearest count that the work divides into"
            " evenly.",
        ),
        # 2 active, and 8 x 25 = 200 percent of use fill three GPUs at 67 %.
        (
            "active_gpus",
            {"active_gpus": 2, "busy_gpus": 3, "needed_gpus": 3, "avg_util_percent": 25.0},
            4,
            "Only 2 GPUs showed sustained utilization > 30 %; the use of all GPUs together equals 3 GPUs at 67"
            " %; 4 is the nearest count that the work divides into evenly.",
        ),
        # In turns no GPU is above 30 % on average.
        (
            "active_gpus",
            {"active_gpus": 0, "busy_gpus": 2, "needed_gpus": 2, "avg_util_percent": 12.5},
            2,
            "No GPU showed sustained utilization > 30 %; the use of all GPUs together equals 2 GPUs at 50 %.",
        ),
        # 8 x 20 = 160 percent fill two GPUs at 80 %, which the busiest GPU of the run showed to be possible.
        (
            "overscaling",
            {"active_gpus": 0, "busy_gpus": 2, "needed_gpus": 2, "avg_util_percent": 20.0},
            2,
            "The work of 8 GPUs at 20.0 % fits on 2 GPUs at 80 %.",
        ),
        (
            "overscaling",
            {"active_gpus": 3, "busy_gpus": 2, "needed_gpus": 3, "avg_util_percent": 17.5},
            4,
            "The work of 8 GPUs at 17.5 % fits on 2 GPUs at 70 %, but 3 showed sustained utilization > 30 %; 4 is the"
            " nearest count that the work divides into evenly.",
        ),
        (
            "gpu_memory",
            {"active_gpus": 2, "memory_gpus": 3, "needed_gpus": 3, "peak_memory_total_gb": 160.0},
            4,
            "Only 2 GPUs showed sustained utilization > 30 %, and the 160.0 GB of GPU memory that was used fit on 3"
            " GPUs; 4 is the nearest count that the work divides into evenly.",
        ),
    ],
)
def test_the_reason_names_what_decided_the_count(
    basis: str, evidence: dict[str, Any], gpus: int, expected: str
) -> None:
    shape = Shape(nodes=1, gpus=gpus, partition="small-g")
    advice = Recommendation(RecommendationKind.GPUS, basis, COUNTED_WORK | evidence, shape, ())
    assert reason(advice, judged().facts) == expected


def test_a_cpu_partition_is_not_said_to_bill_by_gpu() -> None:
    said = reason(advised("cpu_work", partition="small", gpus=0), judged().facts)
    assert said.endswith("CPU partition small, which bills core-hours, so no saving in GPU-hours is stated.")
    assert "bills by GPU" not in said


def test_another_partition_is_explained() -> None:
    said = reason(advised("active_gpus"), judged(partition="standard-g").facts)
    assert said.endswith("; small-g bills by GPU, standard-g by whole node.")


def test_savings_state_their_assumption() -> None:
    same = judged()
    assert assumption(same.savings, same.facts, same.recommendations) == "the same run time of 2 h 00 min"


def test_the_use_that_a_saving_assumes_follows_from_the_work() -> None:
    # 8 GPUs at 10 % for two hours are 1.6 busy GPU-hours: on the 2 GPUs that 8 divides into, 40 % of the same time.
    spread = judged([gpu(index, 10.0, peak_mem_gb=4.0) for index in range(8)])
    assert [advice.basis for advice in spread.recommendations][:1] == ["overscaling"]
    assert spread.recommendations[0].wanted.gpus == 2
    said = assumption(spread.savings, spread.facts, spread.recommendations)
    assert said == "the same busy GPU time, which keeps 2 GPUs busy 40.0 % of 2 h 00 min"
