"""Use spread over the GPUs: whole nodes for half of them, GPUs without a process, uneven work, GPUs given unasked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.causes.spread import is_uneven
from analysis.findings import FindingCode
from analysis.thresholds import LIMITS
from tests.analysis.runs import codes, facts, found, of_nodes, over_time, rate
from tests.payloads import gpu, node_payload

MISMATCH, UNDERUSED = FindingCode.PARALLELISM_MISMATCH, FindingCode.EXCLUSIVE_NODE_UNDERUSED
IDLE, IMBALANCE = FindingCode.IDLE_GPUS, FindingCode.LOAD_IMBALANCE


def test_two_of_eight_active_is_a_parallelism_mismatch() -> None:
    # Margins: 1 - 2/5 = 0.6; (88 - 30) / 70 = 0.82857; (5 - 0) / 5 = 1. Their geometric mean is 0.79219.
    finding = found(facts([88.0] * 2 + [0.0] * 6), MISMATCH)
    assert (finding.evidence["active_gpus"], finding.evidence["gpus"]) == (2, 8)
    assert finding.evidence["active_util_percent"] == pytest.approx(88.0)
    assert finding.confidence == pytest.approx(rate(0.79219), abs=1e-5)


def test_strays_on_the_other_gpus_make_a_mismatch_less_sure() -> None:
    # Margins 0.6, 0.82857 and (5 - 4) / 5 = 0.2: geometric mean 0.46326.
    finding = found(facts([88.0] * 2 + [4.0] + [0.0] * 5), MISMATCH)
    assert finding.evidence["inactive_util_percent"] == pytest.approx(4 / 6)
    assert finding.confidence == pytest.approx(rate(0.46326), abs=1e-5)


@pytest.mark.parametrize(("active", "holds"), [(0, False), (1, True), (4, True), (5, False), (8, False)])
def test_a_mismatch_needs_one_active_gpu_and_at_most_half(active: int, holds: bool) -> None:
    assert (found(facts([60.0] * active + [2.0] * (8 - active)), MISMATCH) is not None) == holds


@pytest.mark.parametrize(("others", "holds"), [(0.0, True), (5.0, True), (5.1, False), (25.0, False)])
def test_a_gpu_beside_it_that_does_some_work_has_a_process(others: float, holds: bool) -> None:
    assert (found(facts([60.0, others]), MISMATCH) is not None) == holds


@pytest.mark.parametrize(("active", "holds"), [(30.0, False), (30.1, True)])
def test_exactly_30_percent_is_not_active(active: float, holds: bool) -> None:
    assert (found(facts([active, 0.0]), MISMATCH) is not None) == holds


def test_a_single_gpu_cannot_be_mismatched() -> None:
    assert found(facts([60.0]), MISMATCH) is None


@pytest.mark.parametrize(
    ("busy", "ranks", "peak_gb", "pattern"),
    [
        ((0, 1), 4, 0.2, "ranks_share_gpus"),
        ((0, 1), 3, 0.2, "fewer_processes"),
        ((0, 1), None, 0.2, "fewer_processes"),
        ((0, 1), 2, 1.0, "memory_without_work"),
        ((0, 1), 2, 0.9, "fewer_processes"),
        ((0, 2), 2, 1.0, "one_gpu_of_each_module"),
        ((1, 3), 2, 0.2, "one_gpu_of_each_module"),
        ((0, 2), 4, 0.2, "ranks_share_gpus"),
        ((0,), 1, 0.2, "fewer_processes"),
    ],
)
def test_a_mismatch_is_named_for_what_it_is(busy: tuple, ranks: int | None, peak_gb: float, pattern: str) -> None:
    gpus = [gpu(i, 90.0) if i in busy else gpu(i, 0.0, peak_mem_gb=peak_gb) for i in range(4)]
    finding = found(facts([], gpus=gpus, cpu={"cores_allocated": 28, "ranks": ranks}), MISMATCH)
    assert finding.evidence["pattern"] == pattern
    assert finding.evidence.get("ranks") == (ranks if pattern == "ranks_share_gpus" else None)


def test_gpus_of_a_module_of_their_own_are_not_one_of_each_module() -> None:
    gpus = [gpu(i, 90.0 if i % 2 else 0.0, module_id=i, peak_mem_gb=0.2) for i in range(4)]
    assert found(facts([], gpus=gpus, cpu={"ranks": 2}), MISMATCH).evidence["pattern"] == "fewer_processes"


TWO_GPUS = {"cpus_allocated": 14, "memory_requested_gb": 120.0}


def in_turns(*stretches: tuple[float, int]) -> list[float]:
    return [util for util, minutes in stretches for _ in range(minutes)]


def test_gpus_that_hand_their_work_over_take_turns() -> None:
    # One of two at a time: margin 1 - 1/2.
    known = facts([], gpus=over_time(in_turns((90.0, 60), (0.0, 60)), in_turns((0.0, 60), (90.0, 60))), **TWO_GPUS)
    finding = found(known, MISMATCH)
    assert (finding.evidence["pattern"], finding.evidence["active_gpus"]) == ("in_turns", 1)
    assert finding.evidence["active_util_percent"] == pytest.approx(90.0)
    assert finding.confidence == pytest.approx(rate(0.5))
    # Work that moves from GPU to GPU is one matter, however uneven it leaves them.
    assert codes(known) == {MISMATCH}


@pytest.mark.parametrize(
    ("overlap", "rest", "holds"),
    [(0, 0.0, True), (5, 0.0, True), (20, 0.0, False), (0, 20.0, True), (0, 25.0, False)],
    ids=["apart", "a moment together", "often together", "a fifth outside", "more outside"],
)
def test_turns_are_apart_in_time_and_hold_most_of_the_use(overlap: int, rest: float, holds: bool) -> None:
    # 5 of 120 minutes together is below a tenth, 20 above. At rest 20: 90 / 110 = 0.82 of the use lies in the turns,
    # at 25: 90 / 115 = 0.78.
    first = in_turns((90.0, 60 + overlap), (rest, 60 - overlap))
    second = in_turns((rest, 60), (90.0, 60))
    finding = found(facts([], gpus=over_time(first, second)), MISMATCH)
    assert (finding is not None) == holds


@pytest.mark.parametrize(("minutes", "holds"), [(72, True), (96, True), (97, False), (120, False)])
def test_a_gpu_that_works_nearly_all_the_time_takes_no_turns(minutes: int, holds: bool) -> None:
    # 96 of 120 minutes are 0.8 of the time at work.
    first = in_turns((90.0, minutes), (0.0, 120 - minutes))
    second = in_turns((0.0, minutes), (90.0, 120 - minutes)) if minutes < 120 else in_turns((90.0, 8), (0.0, 112))
    assert (found(facts([], gpus=over_time(first, second)), MISMATCH) is not None) == holds


def test_a_gpu_that_is_never_busy_beside_a_busy_one_has_no_turn() -> None:
    # 95 / (95 + 20) = 0.83 of the use is the first one's.
    known = facts([95.0, 20.0], **TWO_GPUS)
    assert codes(known) == {IMBALANCE}


def test_three_of_four_at_a_time_take_no_turns() -> None:
    rows = [in_turns((90.0, 30 * i), (0.0, 30), (90.0, 90 - 30 * i)) for i in range(4)]
    assert found(facts([], gpus=over_time(*rows)), MISMATCH) is None
    pairs = [in_turns((90.0 * (i < 2), 60), (90.0 * (i >= 2), 60)) for i in range(4)]
    assert found(facts([], gpus=over_time(*pairs)), MISMATCH).evidence["active_gpus"] == 2


@pytest.mark.parametrize(("together", "holds"), [(12, True), (13, False)])
def test_a_tenth_of_the_time_at_work_may_overlap(together: int, holds: bool) -> None:
    # Two pairs in turns for an hour each; for 12 of 120 minutes a third GPU works as well.
    first, second = in_turns((90.0, 60), (0.0, 60)), in_turns((0.0, 60), (90.0, 60))
    third = in_turns((0.0, 60 - together), (90.0, 60 + together))
    assert (found(facts([], gpus=over_time(first, first, second, third)), MISMATCH) is not None) == holds


@pytest.mark.parametrize(("points", "holds"), [(6, True), (4, False)])
def test_turns_need_a_timeline_that_shows_them(points: int, holds: bool) -> None:
    half = points // 2
    first, second = [90.0] * half + [0.0] * half, [0.0] * half + [90.0] * half
    known = facts([], gpus=over_time(first, second, step_s=7200.0 / points))
    assert (found(known, MISMATCH) is not None) == holds


@pytest.mark.parametrize(("active", "holds"), [(0, False), (1, True), (4, True), (5, False), (8, False)])
def test_whole_nodes_are_underused_with_one_to_four_working_gpus_of_eight(active: int, holds: bool) -> None:
    known = facts([90.0] * active + [0.0] * (8 - active), partition="standard-g")
    assert (found(known, UNDERUSED) is not None) == holds


def test_underuse_counts_the_whole_node_as_a_fact() -> None:
    finding = found(facts([90.0] * 2 + [0.0] * 6, partition="standard-g"), UNDERUSED)
    assert dict(finding.evidence) == {"active_gpus": 2, "gpus": 8, "nodes": 1, "partition": "standard-g"}
    assert finding.confidence == 1.0


@pytest.mark.parametrize(("others", "holds"), [(5.0, True), (5.1, False)])
def test_a_node_whose_other_gpus_do_some_work_is_not_underused(others: float, holds: bool) -> None:
    known = facts([90.0] * 2 + [others] + [0.0] * 5, partition="standard-g")
    assert (found(known, UNDERUSED) is not None) == holds


def test_what_is_held_is_the_whole_node_or_all_that_was_measured() -> None:
    # 4 GPUs were told of one node of 8: half of it works. 10 told where one node is recorded: 5 of 10.
    assert found(facts([90.0] * 4, partition="standard-g"), UNDERUSED).evidence["gpus"] == 8
    assert found(facts([90.0] * 5, partition="standard-g"), UNDERUSED) is None
    assert found(facts([90.0] * 5 + [0.0] * 5, partition="standard-g"), UNDERUSED).evidence["gpus"] == 10


def test_one_idle_node_of_two_is_half_of_what_is_held() -> None:
    working, idle = node_payload([90.0] * 8), node_payload([0.0] * 8, node="nid005124")
    known = of_nodes(working, idle)
    assert found(known, UNDERUSED).evidence["gpus"] == 16
    assert found(known, IDLE).evidence["gpu_list"] == "nid005124: 0-7"


def test_a_shared_partition_has_no_whole_node_to_underuse_unless_it_was_asked_for() -> None:
    utils = [90.0] * 2 + [0.0] * 6
    assert found(facts(utils), UNDERUSED) is None
    exclusive = facts(utils, request={"--gpus": "8", "--exclusive": ""})
    assert found(exclusive, UNDERUSED) is not None


def test_a_gpu_that_was_not_measured_may_be_working() -> None:
    known = facts([90.0] * 2 + [0.0] * 2, partition="standard-g", gpus_allocated=8, gpus_requested=8)
    assert found(known, UNDERUSED) is None


def test_gpus_that_the_site_gave_unasked_are_not_called_idle_or_mismatched() -> None:
    known = facts([90.0] * 2 + [0.0] * 6, partition="standard-g", gpus_requested=2)
    assert codes(known) == {UNDERUSED}
    # One idle GPU more than the site gave: that one was asked for.
    one_more = facts([90.0] + [0.0] * 7, partition="standard-g", gpus_requested=2)
    assert found(one_more, IDLE) is not None


@pytest.mark.parametrize(
    ("utils", "holds"),
    [
        ([90.0, 90.0, 40.0, 40.0], True),  # 50 points; mean 65, deviation 25: 0.385
        ([75.0, 75.0, 45.0, 45.0], True),  # 30 points; mean 60, deviation 15: 0.25
        ([76.0, 76.0, 46.0, 46.0], False),  # 30 points; mean 61, deviation 15: 0.246
        ([60.0, 31.0], False),  # 29 points
        ([90.0] * 7 + [58.5], True),  # one at 0.65 of the middle one
        ([90.0] * 7 + [58.6], False),
        ([80.0] * 7 + [50.0], True),  # 30 points below the middle one, 0.625 of it
        ([79.9] * 7 + [50.0], False),
        ([50.0] * 7 + [80.0], True),  # 30 points above
        ([50.1] * 7 + [80.0], False),
        ([58.5] * 7 + [90.0], True),  # the middle one at 0.65 of one far above
        ([58.6] * 7 + [90.0], False),
        ([95.0, 20.0], True),  # below 30 percent, and working
        ([95.0, 5.1], True),
        ([95.0, 5.0], False),  # nearly idle: it has no work to share
        ([95.0, 95.0, 0.0], False),
        ([90.0], False),
    ],
)
def test_imbalance_needs_thirty_points_and_one_far_off_or_a_quarter_of_the_mean(utils: list, holds: bool) -> None:
    assert (found(facts(utils), IMBALANCE) is not None) == holds


def test_imbalance_in_numbers() -> None:
    # Margin (50 - 30) / 70 = 0.285714.
    finding = found(facts([90.0, 90.0, 40.0, 40.0, 0.0]), IMBALANCE)
    assert finding.evidence["variation"] == pytest.approx(0.384615, abs=1e-6)
    assert (finding.evidence["lowest_util_percent"], finding.evidence["highest_util_percent"]) == (40.0, 90.0)
    assert (finding.evidence["active_gpus"], finding.evidence["mean_util_percent"]) == (4, 65.0)
    assert (finding.evidence["gpu_list"], finding.evidence["pattern"]) == ("nid005123: 2-3", "uneven")
    assert finding.confidence == pytest.approx(rate(0.285714), abs=1e-6)


def test_idle_loads_vary_by_nothing() -> None:
    assert not is_uneven(np.zeros(4), LIMITS)


@pytest.mark.parametrize(
    ("minutes", "early", "holds"), [(120, 24, True), (120, 23, False), (40, 10, True), (40, 9, False)]
)
def test_a_gpu_that_stopped_early_left_the_others_a_fifth_of_the_run_and_ten_minutes(
    minutes: int, early: int, holds: bool
) -> None:
    whole, short = [90.0] * minutes, [90.0] * (minutes - early) + [0.0] * early
    known = facts([], gpus=over_time(whole, short), walltime_used_s=minutes * 60)
    finding = found(known, IMBALANCE)
    assert (finding is not None) == holds
    if finding is not None:
        assert (finding.evidence["pattern"], finding.evidence["early_s"]) == ("stopped_early", early * 60.0)
        assert (finding.evidence["early_gpus"], finding.evidence["gpu_list"]) == (1, "nid005123: 1")
        assert finding.confidence == pytest.approx(rate(early / minutes))


def test_a_stray_reading_after_its_work_does_not_keep_a_gpu_going() -> None:
    short = [90.0] * 80 + [0.0] * 20 + [40.0] + [0.0] * 19
    finding = found(facts([], gpus=over_time([90.0] * 120, [90.0] * 120, short)), IMBALANCE)
    assert finding.evidence["early_s"] == 2400.0


def test_gpus_that_all_stop_together_are_no_imbalance_but_an_idle_tail() -> None:
    row = [90.0] * 80 + [0.0] * 40
    assert codes(facts([], gpus=over_time(row, row), **TWO_GPUS)) == {FindingCode.IDLE_TAIL}


def test_an_idle_gpu_in_numbers() -> None:
    part: dict[str, Any] = {"idle_s": 6912.0, "active_s": 288.0, "util_histogram_s": None}
    known = facts([], gpus=[gpu(0, 90.0), gpu(1, 0.0), gpu(2, 2.0, **part)])
    # Idle for 1.0 and 0.96 of the run.
    finding = found(known, IDLE)
    assert (finding.evidence["idle_gpus"], finding.evidence["gpus"]) == (2, 3)
    assert finding.evidence["idle_fraction"] == pytest.approx(0.98)
    assert finding.evidence["gpu_list"] == "nid005123: 1-2"


def test_the_wrong_gpus_are_not_blamed_where_one_was_not_readable() -> None:
    silent = gpu(1, None, missing={"avg_util": "no driver"})
    known = facts([], gpus=[gpu(0, 90.0), silent, gpu(2, 0.0)])
    assert found(known, IDLE).evidence["gpu_list"] == "nid005123: 2"


def test_one_stray_reading_does_not_make_an_idle_gpu_work() -> None:
    # One second at 40 % in two hours: a mean of 0.0056, not exactly zero.
    stray = {"util_histogram_s": {"0": 7199.0, "40": 1.0}, "idle_s": 7199.0, "active_s": 1.0}
    known = facts([], gpus=[gpu(0, 90.0), gpu(1, 0.0056, **stray)])
    assert found(known, IDLE).evidence["idle_gpus"] == 1
