"""Use spread over the GPUs: whole nodes for half of them, uneven work, and GPUs that nobody asked for."""

from __future__ import annotations

import pytest

from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode
from analysis.rules import findings
from tests.analysis.runs import facts
from tests.payloads import gpu


def found(known: JobFacts, code: FindingCode) -> Finding | None:
    return next((finding for finding in findings(known) if finding.code is code), None)


@pytest.mark.parametrize(("active", "holds"), [(0, False), (1, True), (4, True), (5, False), (8, False)])
def test_whole_nodes_are_underused_with_one_to_four_working_gpus_of_eight(active: int, holds: bool) -> None:
    known = facts([90.0] * active + [0.0] * (8 - active), partition="standard-g")
    assert (found(known, FindingCode.EXCLUSIVE_NODE_UNDERUSED) is not None) == holds


def test_underuse_counts_the_whole_node_and_its_confidence_the_gpus_that_work() -> None:
    # The threshold is the first count that does not hold: 5. Margin (5 - 2) / 5 = 0.6; 0.5 + 0.5 x 0.6 = 0.8.
    finding = found(facts([90.0] * 2 + [0.0] * 6, partition="standard-g"), FindingCode.EXCLUSIVE_NODE_UNDERUSED)
    assert dict(finding.evidence) == {"active_gpus": 2, "gpus": 8, "nodes": 1, "partition": "standard-g"}
    assert finding.confidence == pytest.approx(0.8)


def test_a_shared_partition_has_no_whole_node_to_underuse_unless_it_was_asked_for() -> None:
    utils = [90.0] * 2 + [0.0] * 6
    assert found(facts(utils), FindingCode.EXCLUSIVE_NODE_UNDERUSED) is None
    exclusive = facts(utils, request={"--gpus": "8", "--exclusive": ""})
    assert found(exclusive, FindingCode.EXCLUSIVE_NODE_UNDERUSED) is not None


def test_a_gpu_that_was_not_measured_may_be_working() -> None:
    known = facts([90.0] * 2 + [0.0] * 2, partition="standard-g", gpus_allocated=8, gpus_requested=8)
    assert found(known, FindingCode.EXCLUSIVE_NODE_UNDERUSED) is None


def test_gpus_that_the_site_gave_unasked_are_not_called_idle_or_mismatched() -> None:
    known = facts([90.0] * 2 + [0.0] * 6, partition="standard-g", gpus_requested=2)
    assert {finding.code for finding in findings(known)} == {FindingCode.EXCLUSIVE_NODE_UNDERUSED}
    # One idle GPU more than the site gave: that one was asked for.
    one_more = facts([90.0] + [0.0] * 7, partition="standard-g", gpus_requested=2)
    assert found(one_more, FindingCode.IDLE_GPUS) is not None


@pytest.mark.parametrize(
    ("utils", "holds"),
    [
        ([90.0, 90.0, 40.0, 40.0], True),  # 50 points; mean 65, deviation 25: 0.385
        ([60.0, 31.0], False),  # 29 points
        ([90.0] * 7 + [60.0], False),  # 30 points, but a deviation of 9.9 of a mean of 86.3: 0.115
        ([95.0, 20.0], False),  # one of them is not active
        ([90.0], False),
    ],
)
def test_imbalance_needs_thirty_points_and_a_quarter_of_the_mean_among_active_gpus(utils: list, holds: bool) -> None:
    assert (found(facts(utils), FindingCode.LOAD_IMBALANCE) is not None) == holds


def test_imbalance_in_numbers() -> None:
    # Margins (50 - 30) / 40 = 0.5 and (0.384615 - 0.25) / 0.75 = 0.179487; sqrt of their product 0.299572.
    finding = found(facts([90.0, 90.0, 40.0, 40.0]), FindingCode.LOAD_IMBALANCE)
    assert finding.evidence["variation"] == pytest.approx(0.384615, abs=1e-6)
    assert finding.evidence["gpu_list"] == "nid005123: 2-3"
    assert finding.confidence == pytest.approx(0.649786, abs=1e-5)


def test_the_wrong_gpus_are_not_blamed_where_one_was_not_readable() -> None:
    silent = gpu(1, None, missing={"avg_util": "no driver"})
    known = facts([], gpus=[gpu(0, 90.0), silent, gpu(2, 0.0)])
    assert found(known, FindingCode.IDLE_GPUS).evidence["gpu_list"] == "nid005123: 2"


def test_one_stray_reading_does_not_make_an_idle_gpu_work() -> None:
    # One second at 40 % in two hours: a mean of 0.0056, not exactly zero.
    stray = {"util_histogram_s": {"0": 7199.0, "40": 1.0}, "idle_s": 7199.0, "active_s": 1.0}
    known = facts([], gpus=[gpu(0, 90.0), gpu(1, 0.0056, **stray)])
    assert found(known, FindingCode.IDLE_GPUS).evidence["idle_gpus"] == 1
