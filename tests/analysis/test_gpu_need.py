"""How many GPUs the work of a run needs: what was active, what the work fills, what its memory needs, and the count."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from analysis.facts import JobFacts
from analysis.findings import FindingCode
from analysis.gpu_need import active_gpus, countable, gpu_need, gpus_for_memory, gpus_for_work
from tests.analysis.runs import advice, facts, of_nodes
from tests.payloads import gpu, node_payload

MISMATCH = frozenset({FindingCode.PARALLELISM_MISMATCH})
QUIET = {"cores_allocated": 56, "busy_cores_avg": 2.0, "ranks": 8, "peak_memory_gb": 20.0}


def light(*utils: float, **record: object) -> JobFacts:
    """GPUs with 4 of 64 GB each."""
    return facts([], gpus=[gpu(i, util, peak_mem_gb=4.0) for i, util in enumerate(utils)], cpu=QUIET, **record)


@pytest.mark.parametrize(("util", "active"), [(30.0, 1), (30.1, 2), (0.0, 1)])
def test_a_gpu_is_active_above_30_percent_on_average(util: float, active: int) -> None:
    assert active_gpus(light(90.0, util)) == active


@pytest.mark.parametrize(
    ("histogram_s", "mean", "active"),
    [
        ({"31": 3600.0, "0": 3600.0}, 15.5, True),
        ({"31": 3599.0, "0": 3601.0}, 15.5, False),
        ({"30": 7200.0}, 30.0, False),
        ({"100": 2880.0, "0": 4320.0}, 40.0, True),
    ],
    ids=["half of the time", "less", "at 30 percent", "in strong bursts"],
)
def test_a_gpu_is_active_above_30_percent_for_half_of_the_time(histogram_s: dict, mean: float, active: bool) -> None:
    assert (active_gpus(facts([], gpus=[gpu(0, mean, util_histogram_s=histogram_s)])) == 1) == active


def test_a_gpu_that_was_not_measured_counts_as_active() -> None:
    known = light(90.0, 0.0, 0.0, 0.0, gpus_allocated=8, gpus_requested=8)
    assert (active_gpus(known), gpus_for_work(known), gpus_for_memory(known)) == (5, 5, 5)
    # Five are counted as eight: nothing is advised away.
    assert advice(known) == ()


@pytest.mark.parametrize(
    ("utils", "gpus"),
    [
        ((35.0, 35.0), 1),
        ((35.0, 35.1), 2),
        ((28.0,) * 8, 4),
        ((95.0, 95.0, 95.0, 10.0), 4),
        ((95.0, 95.0, 90.0, 5.1), 4),
        ((90.0, 5.0, 5.0, 5.0), 1),
        ((90.0, 0.0, 0.0), 1),
    ],
    ids=["70", "70.1", "3.2", "3.1 of the busiest", "just over three", "strays", "idle"],
)
def test_work_is_conserved_at_70_percent_or_at_what_the_busiest_gpu_reached(utils: tuple, gpus: int) -> None:
    # 8 x 28 = 224 = 3.2 x 70; 295 = 3.1 x 95; 285.1 = 3.001 x 95.
    assert gpus_for_work(light(*utils)) == gpus


def test_memory_needs_the_gpus_that_worked_with_a_tenth_to_spare() -> None:
    # 3 x 40 GB = 120 GB; 120 / 57.6 = 2.08: three, never more than held it.
    work = [gpu(i, 90.0 if i < 1 else 10.0, peak_mem_gb=40.0) for i in range(3)]
    reserved = [gpu(i, 0.0, peak_mem_gb=60.0) for i in range(3, 8)]
    assert gpus_for_memory(facts([], gpus=[*work, *reserved])) == 3
    assert gpus_for_memory(facts([], gpus=[gpu(i, 90.0, peak_mem_gb=60.0) for i in range(2)])) == 2
    assert gpus_for_memory(facts([], gpus=[gpu(i, 90.0, peak_mem_gb=28.8) for i in range(2)])) == 1
    assert gpus_for_memory(facts([], gpus=[gpu(i, 90.0, peak_mem_gb=28.9) for i in range(2)])) == 2


def test_a_library_that_grabs_all_memory_everywhere_is_no_need() -> None:
    gpus = [gpu(i, 88.0 if i < 2 else 0.0, peak_mem_gb=60.0) for i in range(8)]
    (fewer,) = advice(facts([], gpus=gpus, cpu=QUIET | {"ranks": 2}))
    assert (fewer.recommended_gpus, fewer.basis) == (2, "active_gpus")


def test_memory_that_was_not_measured_is_not_taken_for_none() -> None:
    # 20 + 20 GB fit on one GPU, but nobody knows what the other two that worked hold: 1 + 2 = 3.
    known = [gpu(index, 90.0, peak_mem_gb=20.0) for index in range(2)]
    unknown = [gpu(index, 4.0, peak_mem_gb=None) for index in range(2, 4)]
    idle = [gpu(index, 0.0, peak_mem_gb=None) for index in range(4, 8)]
    need = gpu_need(facts([], gpus=[*known, *unknown, *idle], cpu={}), MISMATCH)
    assert (need.gpus, need.basis) == (3, "gpu_memory")


def test_memory_decides_only_where_it_needs_more_than_the_work() -> None:
    # Two at work with 60 GB each beside two strays with 60 GB: 240 / 57.6 = 4.2, held by four.
    gpus = [gpu(i, 90.0 if i < 2 else 3.0, peak_mem_gb=60.0) for i in range(4)]
    need = gpu_need(facts([], gpus=[*gpus, *(gpu(i, 0.0) for i in range(4, 8))], cpu={}), MISMATCH)
    assert (need.gpus, need.basis, need.evidence["memory_gpus"]) == (4, "gpu_memory", 4)
    # The same count from memory and from work is the work's.
    both = gpu_need(facts([], gpus=[gpu(i, 90.0, peak_mem_gb=60.0) for i in range(2)], cpu={}), MISMATCH)
    assert (both.gpus, both.basis) == (2, "active_gpus")
    assert dict(both.evidence) == {
        "gpus": 2,
        "active_gpus": 2,
        "busy_gpus": 2,
        "memory_gpus": 2,
        "needed_gpus": 2,
        "peak_memory_total_gb": 120.0,
        "avg_util_percent": 90.0,
        "target_percent": 70.0,
        "threshold_percent": 30.0,
    }


def test_one_gpu_is_the_least_and_no_need_of_memory() -> None:
    # Sixteen strays: 4 GB on one GPU.
    known = facts([], gpus=[gpu(0, 3.0, peak_mem_gb=4.0), *(gpu(i, 0.0) for i in range(1, 8))], cpu={})
    need = gpu_need(known, frozenset({FindingCode.IDLE_GPUS}))
    assert (need.gpus, need.basis, need.evidence["memory_gpus"]) == (1, "active_gpus", 1)


def test_memory_does_not_decide_where_the_work_fills_as_many() -> None:
    # 4 x 28 = 112 percent are 1.6 x 70, 4 x 20 GB are 1.4 x 57.6: two of each, none active.
    known = facts([], gpus=[gpu(i, 28.0, peak_mem_gb=20.0) for i in range(4)], cpu={})
    need = gpu_need(known, MISMATCH)
    assert (need.gpus, need.basis, need.evidence["busy_gpus"]) == (2, "active_gpus", 2)


def test_unknown_capacity_needs_no_gpu_for_memory() -> None:
    bare = [{"gpu_id": i, "avg_util": 90.0, "peak_mem_gb": 60.0} for i in range(2)]
    assert gpus_for_memory(facts([], gpus=bare, partition="lumid")) == 0
    assert gpus_for_memory(facts([], gpus=bare)) == 2


def test_nothing_that_was_found_speaks_of_the_number_of_gpus() -> None:
    known = light(88.0, 88.0, 0.0, 0.0)
    assert gpu_need(known, frozenset({FindingCode.TIMEOUT})) is None
    assert gpu_need(known, MISMATCH | {FindingCode.GPU_OUT_OF_MEMORY}) is None
    assert gpu_need(facts([], gpus=[]), MISMATCH) is None


@pytest.mark.parametrize(
    ("needed", "now", "per_node", "count"),
    [
        (3, 8, 8, 4),
        (5, 8, 8, 8),
        (5, 6, 8, 6),
        (3, 6, 8, 3),
        (4, 6, 8, 4),
        (7, 7, 8, 7),
        (8, 16, 8, 8),
        (9, 64, 8, 16),
        (17, 64, 8, 32),
        (9, 24, 8, 16),
        (33, 72, 8, 64),
        (17, 24, 8, 24),
        (1, 12, 4, 1),
        (8191, 8192, 8, 8192),
        (8184, 8192, 8, 8192),
        (4096, 8192, 8, 4096),
        (4097, 8192, 8, 8192),
        (5, 8, 4, 8),
    ],
)
def test_counts_divide_the_work_or_are_powers_of_two_and_whole_nodes_above_one(
    needed: int, now: int, per_node: int, count: int
) -> None:
    assert countable(needed, now, per_node)[0] == count


@given(st.integers(1, 512), st.integers(1, 512), st.integers(1, 16))
def test_a_count_is_never_below_the_need_nor_above_what_was_held(needed: int, now: int, per_node: int) -> None:
    count = countable(min(needed, now), now, per_node)[0]
    assert min(needed, now) <= count <= now
    assert count <= per_node or count == now or count % per_node == 0


@pytest.mark.parametrize(("idle_nodes", "expected"), [(1, None), (7, None), (8, 64), (12, 32)])
def test_one_idle_node_among_many_is_something_to_look_at_and_not_a_size(idle_nodes: int, expected: int | None) -> None:
    nodes = [
        node_payload(
            node=f"nid0051{index:02}",
            gpus=[gpu(i, 90.0 if index >= idle_nodes else 0.0, peak_mem_gb=4.0) for i in range(8)],
            cpu=QUIET,
        )
        for index in range(16)
    ]
    assert [each.recommended_gpus for each in advice(of_nodes(*nodes))] == ([] if expected is None else [expected])
