"""What is known before a run is judged: whether it says anything of its GPUs, which of them idled or worked, peers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.facts import consistency, job_facts
from analysis.findings import FindingCode
from analysis.rules import OF_USE
from tests.analysis.runs import codes, facts, found, metrics_of, of_nodes, over_time
from tests.payloads import gpu, job_record, node_payload

NO_USE, TAIL, LATE = FindingCode.NO_GPU_USE, FindingCode.IDLE_TAIL, FindingCode.LATE_START
OF_USE_CODES = {FindingCode(rule.__name__) for rule in OF_USE}


@pytest.mark.parametrize(
    ("state", "elapsed_s", "judged"),
    [
        ("COMPLETED", 299, False),
        ("COMPLETED", 300, True),
        ("TIMEOUT", 300, True),
        ("OUT_OF_MEMORY", 300, True),
        ("FAILED", 599, False),
        ("FAILED", 600, True),
        ("CANCELLED", 599, False),
        ("CANCELLED", 600, True),
        ("REQUEUED", 7200, False),
        ("NODE_FAIL", 7200, False),
        ("BOOT_FAIL", 7200, False),
        ("PREEMPTED", 7200, False),
    ],
)
def test_use_is_judged_after_five_minutes_and_after_ten_where_the_run_was_ended(
    state: str, elapsed_s: int, judged: bool
) -> None:
    known = facts([90.0] + [0.0] * 7, state=state, walltime_used_s=elapsed_s)
    assert known.is_use_judged == judged
    assert bool(codes(known) & OF_USE_CODES) == judged


@pytest.mark.parametrize(("util", "idle"), [(0.0, True), (0.05, True), (0.06, False)])
def test_a_mean_alone_shows_an_idle_gpu(util: float, idle: bool) -> None:
    # A mean of 0.05 percent leaves at most 5 percent of the time above one percent.
    known = facts([], gpus=[{"gpu_id": 0, "avg_util": util}])
    assert known.is_idle.tolist() == [idle]
    assert (NO_USE in codes(known)) == idle
    assert known.idle_fraction == (pytest.approx(1 - util) if idle else None)


def test_the_smallest_payload_is_judged_as_far_as_it_goes() -> None:
    known = facts([], gpus=[{"gpu_id": i, "avg_util": 88.0 if i < 2 else 0.0} for i in range(8)])
    assert {FindingCode.PARALLELISM_MISMATCH, FindingCode.IDLE_GPUS} <= codes(known)
    assert found(known, FindingCode.IDLE_GPUS).confidence == 1.0


@pytest.mark.parametrize(
    ("told", "idle_fraction"),
    [
        ({"idle_s": 1800.0, "util_histogram_s": {"0": 7200.0}}, 0.25),
        ({"idle_s": None, "util_histogram_s": {"0": 1800.0, "1": 1800.0, "2": 3600.0}}, 0.5),
        ({"idle_s": None, "util_histogram_s": None}, None),
        ({"idle_s": 7300.0, "util_histogram_s": None}, 1.0),
    ],
    ids=["counted", "by the histogram up to one percent", "not told", "at most all"],
)
def test_idle_time_is_as_counted_else_as_the_histogram_has_it(told: dict[str, Any], idle_fraction: float) -> None:
    assert facts([], gpus=[gpu(0, 40.0, active_s=None, **told)]).idle_fraction == idle_fraction


def test_a_context_on_idle_gpus_costs_no_idle_time_of_the_others() -> None:
    # 0.5 x 7200 of the first, all of the second; as long measured: 0.75.
    known = facts([], gpus=[gpu(0, 40.0, idle_s=3600.0, active_s=3600.0), gpu(1, 0.0)])
    assert known.idle_fraction == pytest.approx(0.75)


TWO_DAYS_S = 172_800.0
ONE_GPU = {"cpus_allocated": 7, "memory_requested_gb": 60.0}


def long_run(util: list[float], active_s: float) -> Any:
    """One GPU over two days in 240 buckets of 12 minutes, busy for `active_s` in all."""
    use = {
        "measured_s": TWO_DAYS_S,
        "samples": 172_800,
        "active_s": active_s,
        "idle_s": TWO_DAYS_S - active_s,
        "util_histogram_s": None,
        "timeline": {"step_s": 720.0, "util": util, "mem_gb": [1.0] * 240},
    }
    return facts([], gpus=[gpu(0, float(np.mean(util)), **use)], walltime_used_s=TWO_DAYS_S, **ONE_GPU)


@pytest.mark.parametrize(("first", "code"), [(0, TAIL), (239, LATE)])
def test_three_minutes_of_work_in_two_days_are_no_absence_of_work(first: int, code: FindingCode) -> None:
    # 180 of 720 s at 90 percent: 22.5 percent in one bucket.
    util = [0.0] * 240
    util[first] = 22.5
    known = long_run(util, 180.0)
    assert known.did_work.tolist() == [True]
    assert code in codes(known)
    assert NO_USE not in codes(known)


@pytest.mark.parametrize(
    ("active_s", "percent", "worked"), [(121.0, 5.0, True), (119.0, 5.0, False), (121.0, 4.97, False)]
)
def test_a_gpu_worked_from_two_minutes_at_thirty_percent_in_one_stretch(
    active_s: float, percent: float, worked: bool
) -> None:
    # 120 s at 30 percent are 36 busy seconds: 5 percent of a bucket of 720 s.
    known = long_run([percent] + [0.0] * 239, active_s)
    assert known.did_work.tolist() == [worked]
    assert (NO_USE in codes(known)) != worked


def test_a_stretch_of_work_goes_over_several_buckets_and_ends_with_an_idle_one() -> None:
    assert long_run([2.5, 2.5] + [0.0] * 238, 130.0).did_work.tolist() == [True]
    assert long_run([2.5, 0.0, 2.5] + [0.0] * 237, 130.0).did_work.tolist() == [False]


def test_strays_are_no_work_however_many() -> None:
    # A second at 40 percent in each bucket: 0.06 percent, four minutes in all.
    known = long_run([0.056] * 240, 240.0)
    assert known.did_work.tolist() == [False]
    assert codes(known) == {NO_USE}


IDLE_RUN = st.tuples(
    st.lists(st.tuples(st.sampled_from([0.0, 0.3, 2.0, 30.0, 90.0]), st.integers(0, 6)), max_size=3),
    st.integers(0, 100),
    st.sampled_from([10.0, 60.0, 720.0]),
)


@settings(max_examples=80)
@given(st.lists(IDLE_RUN, min_size=1, max_size=3), st.booleans())
def test_a_run_whose_gpus_all_stood_idle_is_never_left_without_a_finding(drawn: list, has_timeline: bool) -> None:
    step_s, gpus = drawn[0][2], []
    for index, (bursts, start, _) in enumerate(drawn):
        util = [0.0] * 240
        for level, length in bursts:
            util[start : start + length] = [level] * length
            start += length + 7
        each = over_time(util[:240], step_s=step_s)[0] | {"gpu_id": index, "module_id": index // 2}
        gpus.append(each if has_timeline else each | {"timeline": None})
    known = facts([], gpus=gpus, walltime_used_s=240 * step_s)
    if np.all(known.is_idle):
        idle = {NO_USE, TAIL, LATE, FindingCode.IDLE_GPUS, FindingCode.LOW_USE_UNEXPLAINED}
        assert codes(known) & idle
        assert not {NO_USE, TAIL} <= codes(known)


def test_node_names_with_and_without_a_domain_are_one_node() -> None:
    known = of_nodes(node_payload([90.0] * 8, node="nid005123.lumi.csc.fi"), nodes=["nid005123"])
    assert known.gpus.count == 8
    assert known.not_measured == ()
    other_way = of_nodes(node_payload([90.0] * 8), nodes=["nid005123.lumi.csc.fi"])
    assert (other_way.gpus.count, other_way.not_measured) == (8, ())


def test_samples_are_compared_within_each_node() -> None:
    fast, slow = [gpu(i, 90.0, samples=7200) for i in range(4)], [gpu(i, 90.0, samples=720) for i in range(4)]
    names = ("nid005123", "nid005124")
    metrics = metrics_of(*(node_payload(node=name, gpus=gpus) for name, gpus in zip(names, (fast, slow), strict=True)))
    agree, reasons = consistency(metrics)
    assert (agree.tolist(), reasons) == ([True] * 8, ())


@pytest.mark.parametrize(("samples", "agrees"), [(6480, True), (6479, False), (7920, True), (7921, False)])
def test_a_sample_count_may_differ_by_a_tenth_from_its_peers(samples: int, agrees: bool) -> None:
    gpus = [*(gpu(i, 90.0) for i in range(3)), gpu(3, 90.0, samples=samples)]
    agree, reasons = consistency(metrics_of(node_payload(gpus=gpus)))
    assert agree.tolist() == [True] * 3 + [agrees]
    assert bool(reasons) != agrees


def test_a_field_that_half_of_the_gpus_lack_is_not_usual() -> None:
    with_p95, without = gpu(0, 90.0), gpu(1, 90.0, p95_util=None)
    assert consistency(metrics_of(node_payload(gpus=[with_p95, without])))[0].tolist() == [True, True]
    three = [gpu(2, 90.0), with_p95, without]
    assert consistency(metrics_of(node_payload(gpus=three)))[0].tolist() == [True, True, False]


def test_no_report_names_more_than_twenty_odd_gpus() -> None:
    rows = [
        [gpu(i, 90.0, mem_total_gb=64.0 if row < 3 else 32.0, peak_mem_gb=1.0) for i in range(8)] for row in range(6)
    ]
    nodes = [node_payload(node=f"nid00512{row}", gpus=gpus) for row, gpus in enumerate(rows)]
    agree, reasons = consistency(metrics_of(*nodes))
    assert int(np.sum(~agree)) == 24
    assert len(reasons) == 21
    assert reasons[-1] == "and 4 more GPUs that differ from their peers"


@pytest.mark.parametrize(
    ("energies_j", "total_j"),
    [([1000.0, None, 3000.0, None], 4000.0), ([1000.0, None, None, None], None), ([None] * 4, None)],
)
def test_energy_is_told_where_every_module_of_two_reported_it(energies_j: list, total_j: float | None) -> None:
    gpus = [gpu(i, 90.0, energy_j=energy_j) for i, energy_j in enumerate(energies_j)]
    assert facts([], gpus=gpus).energy_j == total_j


def test_energy_of_hardware_that_is_not_described_needs_every_gpu() -> None:
    gpus = [gpu(i, 90.0, energy_j=1000.0 if i else None) for i in range(2)]
    assert facts([], gpus=gpus, partition="lumid").energy_j is None
    assert facts([], gpus=[gpu(0, 90.0, energy_j=1000.0)], partition="lumid").energy_j == 1000.0


def test_hosts_cover_no_more_than_the_run_held() -> None:
    two = of_nodes(node_payload([90.0] * 8), node_payload([90.0] * 8, node="nid005124"), node_count=1)
    half = of_nodes(node_payload([90.0] * 8), node_payload([90.0] * 8, node="nid005124", cpu=None))
    assert (two.host_coverage_fraction, half.host_coverage_fraction) == (1.0, 0.5)


@pytest.mark.parametrize(("peak_gb", "kept"), [(64.31, True), (64.33, False)])
def test_a_peak_may_pass_the_hardwares_capacity_by_half_a_percent_of_rounding(peak_gb: float, kept: bool) -> None:
    # 64 x 1.005 = 64.32.
    known = facts([], gpus=[gpu(0, 90.0, mem_total_gb=None, peak_mem_gb=peak_gb)])
    assert np.isnan(known.gpus.peak_mem_gb).tolist() == [not kept]


def test_energy_of_a_shared_module_is_nobodys_even_where_its_power_is_not_told() -> None:
    known = facts([], gpus=[gpu(0, 90.0, energy_j=1000.0)])
    assert np.isnan(known.gpus.energy_j).all()
    assert any(said.startswith("power: shared module (1 GPU)") for said in known.not_measured)


def test_a_run_without_a_counted_time_is_as_long_as_its_clock_says() -> None:
    assert job_facts(job_record(walltime_used_s=None), metrics_of()).elapsed_s == 7200.0
    never = job_record(walltime_used_s=None, started_at=None, ended_at=None)
    assert job_facts(never, metrics_of()).elapsed_s == 0.0
