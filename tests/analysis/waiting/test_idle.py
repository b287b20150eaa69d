"""Which GPUs of a run count as idle: by node, measured, and of whole nodes only where another job could get them."""

from __future__ import annotations

from analysis.waiting.rule import idle_gpus_by_node
from tests.analysis.runs import facts, of_nodes
from tests.payloads import gpu, node_payload

IDLE, BUSY = [0.0] * 8, [90.0] * 8


def test_gpus_that_never_worked_are_counted_by_node() -> None:
    assert idle_gpus_by_node(facts([88.0, 88.0, *[0.0] * 6])) == {6: 1}
    assert idle_gpus_by_node(facts(IDLE)) == {8: 1}
    assert idle_gpus_by_node(facts(BUSY)) == {}


def test_little_use_is_not_idle() -> None:
    assert idle_gpus_by_node(facts([5.0] * 8)) == {}


def test_a_gpu_that_worked_for_some_minutes_is_not_idle() -> None:
    """Idle for 96 % of the two hours; five minutes at 100 % in one stretch."""
    util = [100.0] * 5 + [0.0] * 115
    worked = gpu(0, 4.2, active_s=300.0, idle_s=6900.0, util_histogram_s={"0": 6900.0, "100": 300.0})
    worked["timeline"] = {"step_s": 60.0, "util": util, "mem_gb": [1.0] * 120}
    assert idle_gpus_by_node(facts([], gpus=[worked, gpu(1, 0.0)])) == {1: 1}


def test_on_whole_nodes_only_whole_idle_nodes_count() -> None:
    nodes = [
        node_payload(utils, node=f"nid00512{place}") for place, utils in enumerate((BUSY, IDLE, [90.0, *[0.0] * 7]))
    ]
    assert idle_gpus_by_node(of_nodes(*nodes)) == {8: 1}
    assert idle_gpus_by_node(of_nodes(*nodes, partition="small-g")) == {7: 1, 8: 1}
    assert idle_gpus_by_node(of_nodes(*nodes, partition="small-g", is_exclusive=True)) == {8: 1}


def test_what_was_not_measured_is_not_idle() -> None:
    # One of two nodes sent nothing; of the other one GPU was measured for less than 80 % of the 7,200 s.
    node = node_payload(
        gpus=[gpu(place, 0.0, measured_s=each, idle_s=each) for place, each in enumerate((5750.0, 5770.0))]
    )
    known = of_nodes(node, partition="small-g", nodes=["nid005123", "nid005124"], node_count=2)
    assert idle_gpus_by_node(known) == {1: 1}
    # On whole nodes 7 measured GPUs are no whole node.
    assert idle_gpus_by_node(of_nodes(node_payload([0.0] * 7))) == {}


def test_runs_that_are_not_judged_and_unknown_partitions_have_no_idle_gpus() -> None:
    assert idle_gpus_by_node(facts(IDLE, state="NODE_FAIL")) == {}
    assert idle_gpus_by_node(facts(IDLE, walltime_used_s=299.0)) == {}
    assert idle_gpus_by_node(facts(IDLE, state="CANCELLED", walltime_used_s=599.0)) == {}
    assert idle_gpus_by_node(facts(IDLE, partition="lumid")) == {}


def test_no_more_gpus_are_idle_than_were_allocated_and_not_used() -> None:
    """The collector measured the whole node, and the run had two of its GPUs."""
    assert idle_gpus_by_node(facts(IDLE, gpus_allocated=2, gpus_requested=2)) == {2: 1}
    # One of eight worked: one of two stayed idle. Two worked: none.
    assert idle_gpus_by_node(facts([90.0, *[0.0] * 7], gpus_allocated=2, gpus_requested=2)) == {1: 1}
    assert idle_gpus_by_node(facts([90.0, 90.0, *[0.0] * 6], gpus_allocated=2, gpus_requested=2)) == {}
    # Ten of sixteen: six are left out.
    nodes = [node_payload(IDLE, node=f"nid00512{place}") for place in range(2)]
    assert idle_gpus_by_node(of_nodes(*nodes, partition="small-g", gpus_allocated=10)) == {2: 1, 8: 1}
