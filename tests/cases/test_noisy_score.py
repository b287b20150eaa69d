"""The arithmetic of the noisy scorecard by hand, and that every case of the library is one that can be judged."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.assess import Assessment
from analysis.efficiency import EfficiencyClass
from analysis.findings import Finding, FindingCode
from analysis.next_request import requested_shape
from analysis.rightsizing import Recommendation, RecommendationKind
from cases.case import Case, Sensible
from cases.library import LIBRARY
from cases.noisy_score import Bin, NoisyScore, Trial, calibration, draw, score, shown, table, trial, violations
from cases.readings import Node
from metrics.payloads import problems
from tests.cases.noisy_runs import drawn_library, in_one_process, trials
from tests.payloads import gpu
from tests.reports.builders import judged

LOW = [gpu(index, 50.0) for index in range(8)]
HIGH = [gpu(index, 95.0) for index in range(8)]


def case(*must: str, may: tuple[str, ...] = (), class_: str = "ACCEPTABLE", **fields: Any) -> Case:
    """A case that is never drawn, for reports made by hand."""
    return Case("a_case", "by hand", "none", {}, lambda rng: [], class_, frozenset(must), frozenset(may), **fields)


def steady(rng: np.random.Generator) -> list[Node]:
    """One node of two GPUs, busy at 80 to 100 %, ten minutes long."""
    return [Node(util=rng.uniform(80, 100, (600, 2)), mem_gb=np.full((600, 2), 30.0), gpu_ids=(2, 3))]


HEALTHY = Case(
    "healthy_pair",
    "by hand",
    "Two GPUs at work.",
    {
        "state": "COMPLETED",
        "exit_code": "0:0",
        "partition": "small-g",
        "node_count": 1,
        "gpus_requested": 2,
        "gpus_allocated": 2,
        "gpus_per_node": 2,
        "walltime_used_s": 600.0,
        "walltime_requested_s": 900.0,
        "request": {"--gpus": "2", "--time": "00:15:00"},
    },
    steady,
    "EFFICIENT",
)


def judged_as(gpus: list[dict[str, Any]], *findings: tuple[str, float], **record: Any) -> Assessment:
    raised = tuple(Finding(FindingCode(code), confidence, {}) for code, confidence in findings)
    return replace(judged(gpus, **record), findings=raised, recommendations=(), savings=None)


def counted(*trials: tuple[Case, Assessment]) -> NoisyScore:
    card = NoisyScore()
    for seed, (expected, assessment) in enumerate(trials):
        card.count(Trial(expected, seed, assessment))
    return card


def test_a_finding_is_right_where_due_wrong_where_neither_due_nor_allowed_and_else_ignored() -> None:
    card = counted(
        (case("load_imbalance"), judged_as(LOW, ("load_imbalance", 0.9), ("overscaling", 0.6))),
        (case("load_imbalance", may=("overscaling",)), judged_as(LOW, ("overscaling", 0.7))),
    )
    assert (card.right, card.missed) == (Counter(load_imbalance=1), Counter(load_imbalance=1))
    assert (card.wrong, card.tolerated) == (Counter(overscaling=1), Counter(overscaling=1))
    # Load imbalance: due twice, raised once. Overscaling: raised wrongly once, allowed once, never due.
    assert (card.precision("load_imbalance"), card.recall("load_imbalance")) == (1.0, 0.5)
    assert (card.precision("overscaling"), card.recall("overscaling")) == (0.0, 1.0)
    assert card.lines["wrong"] == ["a_case (seed 0): overscaling at 0.60"]
    assert card.lines["missed"] == ["a_case (seed 1): load_imbalance"]
    assert card.stated == [(0.9, True), (0.6, False), (0.7, True)]


def test_a_false_alarm_is_anything_not_allowed_of_a_healthy_run() -> None:
    healthy = case(class_="EFFICIENT", may=("walltime_overrequest",))
    card = counted(
        (healthy, judged_as(HIGH, ("walltime_overrequest", 1.0))),
        (healthy, judged_as(HIGH, ("kernel_tuning", 0.8), ("load_imbalance", 0.8))),
        (case("timeout"), judged_as(LOW, ("overscaling", 0.8))),
    )
    assert card.lines["alarms"] == ["a_case (seed 1): kernel_tuning, load_imbalance"]
    assert (card.healthy, card.false_alarm_rate) == (2, 0.5)


def test_the_class_and_dead_ends_are_counted() -> None:
    card = counted(
        (case("io_or_sync_stall", class_="INEFFICIENT"), judged_as(LOW)),
        (case("io_or_sync_stall"), judged_as(LOW, ("io_or_sync_stall", 0.8))),
    )
    assert card.class_right == 0.5
    assert card.lines["class"] == ["a_case (seed 0): ACCEPTABLE for INEFFICIENT, 50.0 %"]
    assert card.lines["dead ends"] == ["a_case (seed 0): COMPLETED, ACCEPTABLE"]


def test_contradictions_and_weak_inferences_are_named() -> None:
    said = judged_as([gpu(0, 0.0)], ("no_gpu_use", 1.0), ("overscaling", 0.1))
    card = counted((case(may=("no_gpu_use", "overscaling"), class_="WASTED"), said))
    assert card.lines["contradictions"] == ["a_case (seed 0): no_gpu_use beside overscaling"]
    assert card.lines["weak"] == ["a_case (seed 0): overscaling at 10%"]
    assert "contradictions: 1, target 0" in list(card.failures())


def said_of(sensible: Sensible, assessment: Assessment, **wanted: Any) -> list[str]:
    """The violations of a report that advises `wanted`, or nothing."""
    if wanted:
        shape = replace(requested_shape(assessment.facts), **wanted)
        advice = Recommendation(
            RecommendationKind.GPUS, "active_gpus", {"active_gpus": 2, "threshold_percent": 30}, shape, ()
        )
        assessment = replace(assessment, recommendations=(advice,))
    return list(violations(Trial(case("idle_gpus", sensible=sensible), 0, assessment)))


def test_the_whole_next_request_is_held_against_what_is_sensible() -> None:
    two = Sensible(gpus=(2, 4), cores_min=10, memory_min_gb=96.5, walltime_min_s=9000.0, partitions=("small-g",))
    idle = judged_as(LOW, ("idle_gpus", 1.0))
    assert said_of(two, idle) == ["8 GPUs next, sensible are (2, 4)"]
    assert said_of(two, idle, gpus=4, cores=10, memory_gb=96.5, walltime_s=9000.0) == []
    assert said_of(two, idle, gpus=2, cores=9, memory_gb=96.0, walltime_s=8999.0, partition="standard-g") == [
        "9 cores next, at least 10 are needed",
        "96 GB of host memory next, at least 96.5 are needed",
        "8999 seconds of time limit next, at least 9000 are needed",
        "partition standard-g next, sensible are ('small-g',)",
    ]
    assert said_of(Sensible(), idle, gpus=1, cores=1, memory_gb=1.0) == []


def test_a_run_that_is_not_ready_must_not_be_called_so() -> None:
    not_ready = Sensible(is_ready_to_resubmit=False)
    assert said_of(not_ready, judged_as(HIGH)) == ["is called fit to submit again"]
    assert said_of(Sensible(is_ready_to_resubmit=True), judged_as(HIGH)) == []


def test_confidence_is_compared_with_how_often_it_was_right() -> None:
    stated = [(0.42, False), (0.5, True), (0.58, False), (0.9, True), (1.0, True)]
    bins = calibration(stated)
    assert [(b.low, b.high, b.count) for b in bins] == [(0.0, 0.5, 1), (0.5, 0.6, 2), (0.9, 1.0, 2)]
    assert [round(b.stated, 3) for b in bins] == [0.42, 0.54, 0.95]
    assert [b.observed for b in bins] == [0.0, 0.5, 1.0]


@pytest.mark.parametrize(
    ("bin_", "is_off"),
    [
        (Bin(0.8, 0.9, 20, 0.85, 0.70), True),
        (Bin(0.8, 0.9, 19, 0.85, 0.70), False),
        (Bin(0.8, 0.9, 20, 0.85, 0.76), False),
        (Bin(0.5, 0.6, 20, 0.55, 0.70), True),
    ],
)
def test_a_bin_is_off_by_more_than_a_tenth_either_way_once_it_holds_twenty(bin_: Bin, is_off: bool) -> None:
    assert bin_.is_off is is_off


def test_a_finding_that_names_no_cause_is_left_out_of_the_comparison() -> None:
    expected = case("low_use_unexplained", "load_imbalance")
    card = counted((expected, judged_as(LOW, ("low_use_unexplained", 0.3), ("load_imbalance", 0.8), ("timeout", 1.0))))
    assert card.stated == [(0.8, True)]


def test_the_floors_name_what_lies_below() -> None:
    wrong = (case("timeout"), judged_as(LOW, ("overscaling", 0.85)))
    failures = list(counted(*[wrong] * 20).failures())
    assert "overscaling: precision 0.000, recall 1.000" in failures
    assert "timeout: precision 1.000, recall 0.000" in failures
    assert "stated 0.85, right 0.00 of 20 findings" in failures


def test_the_same_seed_draws_the_same_run_and_another_seed_another() -> None:
    (first, first_nodes), (again, again_nodes), (_, other_nodes) = draw(HEALTHY, 1), draw(HEALTHY, 1), draw(HEALTHY, 2)
    assert (first, first_nodes) == (again, again_nodes)
    assert first_nodes[0].gpus[0].avg_util != other_nodes[0].gpus[0].avg_util
    assert (first.gpus_allocated, [gpu.gpu_id for gpu in first_nodes[0].gpus]) == (2, [2, 3])


def test_a_case_is_drawn_judged_counted_and_shown() -> None:
    card = score([HEALTHY], range(2))
    assert (card.runs, card.healthy, card.class_right) == (2, 2, 1.0)
    assert trial(HEALTHY, 0).assessment.efficiency.efficiency_class is EfficiencyClass.EFFICIENT
    text = "\n".join(shown(trial(HEALTHY, 0)))
    assert "Two GPUs at work." in text
    assert "expected: EFFICIENT" in text
    assert any("2 noisy runs" in line for line in table(card))


def test_the_names_of_all_cases_are_different() -> None:
    assert [name for name, count in Counter(known.name for known in LIBRARY).items() if count > 1] == []


def test_the_cases_of_the_library_are_sound() -> None:
    codes, classes = {code.value for code in FindingCode}, set(EfficiencyClass)
    unsound = [
        known.name
        for known in LIBRARY
        if known.must & known.may or not known.must | known.may <= codes or known.efficiency_class not in classes
    ]
    assert unsound == []


@in_one_process
def test_what_is_drawn_of_the_library_keeps_the_contract() -> None:
    faults = []
    for known, record, nodes in drawn_library():
        faults += [] if record.has_ended else [f"{known.name}: {record.state}"]
        faults += [] if len(nodes) <= len(record.nodes) else [f"{known.name}: {len(nodes)} nodes"]
        faults += [f"{known.name}: {found}" for node in nodes for found in problems(node)]
    assert faults == []


@in_one_process
def test_floors_hold_on_seeds_that_no_rule_was_looked_at_with() -> None:
    card = NoisyScore()
    for one in trials():
        card.count(one)
    assert list(card.failures()) == []
