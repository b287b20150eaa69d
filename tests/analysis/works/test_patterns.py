"""The typical run of a work, what limits it, and at which sizes it fails: numbers worked by hand."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from analysis.works.failure_sizes import FailureSize, failure_sizes
from analysis.works.patterns import WorkloadKind, patterns, workload_kind
from analysis.works.runs import PastRun
from tests.analysis.works.cases import run


def measured(use: float | None, codes: str = "", **more: object) -> PastRun:
    return run(8, 3600, avg_gpu_util=use, finding_codes=codes, cores=56, is_judged=True, **more)


def test_medians_and_quartiles_of_what_was_measured() -> None:
    # Of 20, 40, 60, 80, 100 the middle is 60, the quartiles 40 and 80; busy cores of three runs only have a median.
    runs = [
        measured(use, busy_cores=cores, host_peak_gb=None, peak_gpu_mem_gb=use / 2)
        for use, cores in ((20.0, 7.0), (40.0, None), (60.0, 9.0), (80.0, None), (100.0, 8.0))
    ]
    found = {each.name: each for each in patterns(runs).spreads}
    assert (found["gpu_use"].median, found["gpu_use"].low, found["gpu_use"].high) == (60.0, 40.0, 80.0)
    assert (found["cores"].median, found["cores"].low, found["cores"].runs) == (8.0, None, 3)
    assert found["gpu_memory"].median == 30.0
    assert "host_memory" not in found, "never measured"


def test_failed_short_and_uncounted_runs_are_not_typical_but_failures_count_in_the_success() -> None:
    runs = [
        measured(80.0),
        measured(10.0, state="FAILED"),
        measured(10.0, state="CANCELLED"),
        measured(10.0, state="NODE_FAIL", uncounted_reason="system_failure"),
        replace(measured(10.0), elapsed_s=60, uncounted_reason="short"),
    ]
    found = patterns(runs)
    assert [each.median for each in found.spreads if each.name == "gpu_use"] == [80.0]
    # Two completed, one failed; one cancelled and one ended by the system decide nothing.
    assert (found.completed, found.decided, found.cancelled, found.ended_by_system) == (2, 3, 1, 1)
    assert patterns([]).success_fraction is None


@pytest.mark.parametrize(
    ("each", "kind"),
    [
        (measured(85.0), WorkloadKind.GPU),
        (measured(70.0), WorkloadKind.GPU),
        (measured(90.0, " busy_but_waiting "), WorkloadKind.WAITING),
        (measured(30.0, " cpu_bottleneck ", busy_cores=50.0), WorkloadKind.CPU),
        # Busy cores alone are also ranks that wait for their GPUs.
        (measured(50.0, busy_cores=50.0), None),
        (measured(50.0, io_wait_fraction=0.2), WorkloadKind.IO),
        (measured(50.0, io_wait_fraction=0.19), None),
        (measured(50.0, " io_or_sync_stall ", io_wait_fraction=0.1), WorkloadKind.IO),
        (measured(50.0, " io_or_sync_stall ", io_wait_fraction=0.09), None),
        (measured(85.0, io_wait_fraction=0.3), WorkloadKind.GPU),
        (measured(85.0, " gpu_memory_pressure "), WorkloadKind.MEMORY),
        (measured(10.0, busy_cores=8.0), WorkloadKind.WAITING),
        (measured(10.0), None),  # nothing is known of its host
        (measured(None), None),
    ],
)
def test_what_limits_a_run(each: PastRun, kind: WorkloadKind | None) -> None:
    assert workload_kind(each) is kind


def test_a_work_is_of_the_kind_of_more_than_half_of_its_measured_runs() -> None:
    gpu, io = measured(90.0, busy_cores=7.0), measured(20.0, io_wait_fraction=0.4)
    found = patterns([gpu, gpu, io, measured(None)]).kind
    assert (found.kind, found.runs, found.measured) == (WorkloadKind.GPU, 2, 3)
    # 90, 90 and 20 %: the middle is 90; 7 of 56 cores are an eighth.
    assert (found.gpu_fraction, found.cores_fraction, found.io_fraction) == (0.9, 0.125, 0.4)
    assert patterns([gpu, io]).kind.kind is None
    assert patterns([measured(None)]).kind is None


def sized(gpus: int, state: str, count: int) -> list[PastRun]:
    return [run(gpus, 3600, state) for _ in range(count)]


def test_out_of_memory_above_a_size_is_stated_with_its_counts() -> None:
    runs = [
        *sized(16, "OUT_OF_MEMORY", 4),
        *sized(16, "COMPLETED", 1),
        *sized(8, "COMPLETED", 7),
        *sized(4, "COMPLETED", 5),
    ]
    # Four failures on the side of 5 of 17 runs: 2 x 5 / 2380 = 0.42 %, for two splits 0.84 %.
    assert failure_sizes(runs) == [FailureSize("memory", "gpus", 8, 4, 5, 0, 12)]


def test_too_little_memory_fails_below() -> None:
    runs = [
        *[run(8, 3600, "OUT_OF_MEMORY", memory_gb=60.0) for _ in range(5)],
        *[run(8, 3600, memory_gb=480.0) for _ in range(6)],
    ]
    (found,) = failure_sizes(runs)
    assert (found.size, found.limit, found.failed_below, found.runs_below, found.is_above) == (
        "memory_gb",
        60.0,
        5,
        5,
        False,
    )


@pytest.mark.parametrize(
    "runs",
    [
        [*sized(16, "OUT_OF_MEMORY", 2), *sized(8, "COMPLETED", 20)],  # two failures are few
        [*sized(16, "OUT_OF_MEMORY", 3), *sized(8, "COMPLETED", 3)],  # 2 of 20 by chance
        [*sized(16, "OUT_OF_MEMORY", 5), *sized(8, "OUT_OF_MEMORY", 5)],
        sized(8, "OUT_OF_MEMORY", 9),
        [*sized(16, "NODE_FAIL", 5), *sized(8, "COMPLETED", 12)],  # the system's
        [*sized(16, "CANCELLED", 5), *sized(8, "COMPLETED", 12)],
    ],
)
def test_nothing_is_stated_of_too_few_runs_or_the_same_on_both_sides(runs: list[PastRun]) -> None:
    assert failure_sizes(runs) == []


def test_failures_at_random_are_seldom_explained_by_a_size() -> None:
    """Sizes that have nothing to do with the failures: by the correction at most 1 of 20 works gets a sentence."""
    dice = random.Random(7)
    alarms = 0
    for _ in range(300):
        runs = [
            run(
                dice.choice((1, 2, 4, 8, 16)),
                3600,
                "OUT_OF_MEMORY" if dice.random() < 0.3 else "COMPLETED",
                memory_gb=dice.choice((60.0, 120.0, 240.0, 480.0)),
                walltime_s=dice.choice((3600.0, 7200.0, 14400.0)),
            )
            for _ in range(30)
        ]
        alarms += bool(failure_sizes(runs))
    assert alarms <= 15, alarms
