"""What must not change a judgement, and what may only change it one way: over drawn runs."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.assess import Assessment
from analysis.efficiency import EfficiencyClass
from analysis.findings import Evidence, FindingCode
from analysis.models import JobEfficiency
from analysis.services import analyse_due
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.analysis.drawn_runs import BUCKETS, DrawnRun, measured, record_of, runs
from tests.payloads import job_record

EXAMPLES = settings(max_examples=120)
PLACES = {"gpu_list", "node"}
"""Evidence that names GPUs or a node: its order follows that of the nodes."""
CLASSES = ("UNKNOWN", "WASTED", "INEFFICIENT", "ACCEPTABLE", "EFFICIENT")


def rank(judged: Assessment) -> int:
    return CLASSES.index(judged.efficiency.efficiency_class.value)


def sure(judged: Assessment) -> dict[FindingCode, float]:
    return {finding.code: finding.confidence for finding in judged.findings}


def numbers(evidence: Evidence) -> dict[str, Any]:
    return {
        name: value if isinstance(value, str) else pytest.approx(value)
        for name, value in evidence.items()
        if name not in PLACES
    }


def assert_same(one: Assessment, other: Assessment) -> None:
    """The same findings, in numbers, the same class, advice and bill."""
    assert {f.code: numbers(f.evidence) for f in one.findings} == {f.code: numbers(f.evidence) for f in other.findings}
    assert sure(one) == pytest.approx(sure(other))
    assert rank(one) == rank(other)
    assert [(a.basis, a.wanted, a.request) for a in one.recommendations] == [
        (a.basis, a.wanted, a.request) for a in other.recommendations
    ]
    assert (one.savings is None) == (other.savings is None)
    if one.savings is not None:
        assert one.savings.gpu_hours == pytest.approx(other.savings.gpu_hours)


@EXAMPLES
@given(runs(), st.randoms(use_true_random=False))
def test_the_order_of_gpus_and_nodes_changes_nothing(run: DrawnRun, random: Any) -> None:
    mixed = run.copied()
    for node in mixed.nodes:
        random.shuffle(node["gpus"])
    random.shuffle(mixed.nodes)
    assert_same(run.judged(), mixed.judged())


@EXAMPLES
@given(runs())
def test_other_names_of_nodes_user_and_work_change_nothing(run: DrawnRun) -> None:
    other = run.copied()
    for node in other.nodes:
        node["node"] = f"gpu-{node['node'][-1]}.example.org"
    names = {"nodes": [f"gpu-{name[-1]}" for name in run.record["nodes"]], "user_id": "bob", "job_name": "simulate_7"}
    assert_same(run.judged(), other.changed(**names).judged())


@EXAMPLES
@given(runs(nodes_max=2))
def test_twice_the_nodes_with_the_same_on_them_have_the_same_findings_and_class(run: DrawnRun) -> None:
    again = [node | {"node": f"{node['node']}9"} for node in run.copied().nodes]
    nodes = run.nodes + again
    doubled = DrawnRun(record_of(nodes, run.record["state"], run.record["walltime_requested_s"]), nodes)
    one, two = run.judged(), doubled.judged()
    # One GPU alone waits for no other and shares its work with none.
    if int(one.facts.did_work.sum()) != 1:
        assert set(sure(one)) == set(sure(two))
    assert rank(one) == rank(two)
    assert two.efficiency.gpu_hours == pytest.approx(2 * (one.efficiency.gpu_hours or 0.0))


def stretched(run: DrawnRun, factor: float) -> DrawnRun:
    """The same run, every second of it `factor` seconds."""
    slow = run.copied()
    for node in slow.nodes:
        for name in ("pressure_cpu_s", "pressure_io_s"):
            node["cpu"][name] *= factor
        for each in node["gpus"]:
            for name in ("measured_s", "active_s", "idle_s", "throttled_s"):
                each[name] *= factor
            each["samples"] = round(each["samples"] * factor)
            each["util_histogram_s"] = {bin_: s * factor for bin_, s in each["util_histogram_s"].items()}
            each["timeline"]["step_s"] *= factor
    times = ("walltime_requested_s", "walltime_used_s")
    return slow.changed(**{name: run.record[name] * factor for name in times})


@EXAMPLES
@given(runs(), st.sampled_from([0.75, 2.0, 5.0]))
def test_time_that_runs_slower_changes_neither_findings_nor_class_nor_confidence(run: DrawnRun, factor: float) -> None:
    one, other = run.judged(), stretched(run, factor).judged()
    assert sure(one) == pytest.approx(sure(other))
    assert rank(one) == rank(other)


@EXAMPLES
@given(runs())
def test_one_more_idle_gpu_never_makes_a_run_look_better(run: DrawnRun) -> None:
    more = run.copied()
    power_w = next((each["power_avg_w"] for each in run.nodes[0]["gpus"] if each.get("power_avg_w")), None)
    for gpu_id in (4, 5):
        more.nodes[0]["gpus"].append(measured(gpu_id, [0.0] * BUCKETS, 0.2, power_w))
    more = DrawnRun(record_of(more.nodes, run.record["state"], run.record["walltime_requested_s"]), more.nodes)
    one, other = run.judged(), more.judged()
    assert (other.efficiency.avg_gpu_util or 0.0) <= (one.efficiency.avg_gpu_util or 0.0) + 1e-9
    assert rank(other) <= rank(one)
    assert WASTE & set(sure(one)) <= set(sure(other))
    assert {FindingCode.IDLE_GPUS, FindingCode.NO_GPU_USE} & set(sure(other))


WASTE = {
    FindingCode.NO_GPU_USE,
    FindingCode.IDLE_GPUS,
    FindingCode.PARALLELISM_MISMATCH,
    FindingCode.LOAD_IMBALANCE,
    FindingCode.LATE_START,
    FindingCode.IDLE_TAIL,
    FindingCode.IO_OR_SYNC_STALL,
    FindingCode.CPU_BOTTLENECK,
}


def without(run: DrawnRun, *names: str) -> DrawnRun:
    less = run.copied()
    for node in less.nodes:
        for each in node["gpus"]:
            for name in names:
                each.pop(name, None)
    return less


def without_host(run: DrawnRun, *names: str) -> DrawnRun:
    less = run.copied()
    for node in less.nodes:
        node["cpu"] = {name: value for name, value in node["cpu"].items() if name not in names} if names else None
    return less


def without_last_node(run: DrawnRun) -> DrawnRun:
    return replace(run, nodes=run.nodes[:-1])


def without_one_reading(run: DrawnRun) -> DrawnRun:
    less = run.copied()
    last = less.nodes[-1]["gpus"][-1]
    less.nodes[-1]["gpus"][-1] = {"gpu_id": last["gpu_id"], "module_id": last["module_id"], "avg_util": None}
    return less


LESS = {
    "power": lambda run: without(run, "power_avg_w"),
    "timeline": lambda run: without(run, "timeline"),
    "counts and histogram": lambda run: without(run, "idle_s", "active_s", "util_histogram_s"),
    "GPU memory": lambda run: without(run, "peak_mem_gb"),
    "all but the mean and idle time": lambda run: without(
        run, "timeline", "util_histogram_s", "peak_mem_gb", "power_avg_w", "throttled_s"
    ),
    "host": without_host,
    "I/O": lambda run: without_host(run, "iowait_fraction", "pressure_io_s"),
    "busy cores": lambda run: without_host(run, "busy_cores_avg"),
    "ranks": lambda run: without_host(run, "ranks"),
    "one node": without_last_node,
    "one GPU": without_one_reading,
}


EDGES = 0.01
"""An edge that is idle on average may hold a few seconds of work: use between the edges is known to about as much."""


@pytest.mark.parametrize("what", LESS)
@settings(max_examples=50)
@given(runs())
def test_less_data_never_raises_a_confidence(what: str, run: DrawnRun) -> None:
    one, less = run.judged(), LESS[what](run).judged()
    before, after = sure(one), sure(less)
    surer = {code: (before[code], after[code]) for code in before.keys() & after.keys()}
    assert all(now <= then + EDGES for then, now in surer.values()), surer
    if rank(one) == 0:
        assert rank(less) == 0
    assert less.efficiency.coverage_fraction <= one.efficiency.coverage_fraction + 1e-9


@EXAMPLES
@given(runs(), st.sampled_from(sorted(LESS)))
def test_a_run_of_which_no_use_was_measured_stays_unknown_whatever_else_is_known(run: DrawnRun, what: str) -> None:
    silent = run.copied()
    for node in silent.nodes:
        for each in node["gpus"]:
            each["avg_util"] = None
    for one in (silent, LESS[what](silent)):
        judged = one.judged()
        assert judged.efficiency.efficiency_class is EfficiencyClass.UNKNOWN
        assert FindingCode.LOW_USE_UNEXPLAINED not in sure(judged) or run.record["state"] == "FAILED"


LATER = datetime.fromisoformat("2026-11-20T12:30:00Z") + timedelta(days=1)


@pytest.mark.django_db
def test_summaries_that_arrive_in_parts_and_out_of_order_are_judged_as_if_at_once() -> None:
    rows = ([90.0] * 15 + [0.0] * 9, [40.0] * 24, [0.0] * 24, [90.0] * 24)
    gpus = [measured(index, row, 20.0, 260.0) for index, row in enumerate(rows)]
    nodes = [{"node": f"nid00512{number}", "gpus": gpus} for number in range(3)]
    run = DrawnRun(record_of(nodes, "COMPLETED", 20_000.0), nodes)
    expected = run.judged()
    assert len(expected.findings) >= 3
    half = [measured(index, [95.0] * BUCKETS, 1.0, None) for index in range(4)]
    payloads = [
        replaced for node in nodes for replaced in (node | {"gpus": half, "final": False}, node | {"sequence": 2})
    ]
    from_nodes = DrawnRun(run.record, payloads).payloads()
    record_node_summary(from_nodes[1])
    record_job(job_record(**run.record))
    for payload in (*from_nodes[2:4], from_nodes[4]):
        record_node_summary(payload)
    analyse_due(10, LATER)
    record_node_summary(from_nodes[5])
    record_node_summary(from_nodes[0])
    analyse_due(10, LATER)
    stored = JobEfficiency.objects.get()
    assert {row.code: row.confidence for row in stored.findings.all()} == pytest.approx(sure(expected))
    assert stored.avg_gpu_util == pytest.approx(expected.efficiency.avg_gpu_util)
    assert stored.efficiency_class == expected.efficiency.efficiency_class.value
