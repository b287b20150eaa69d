"""Every kind of sample job gets from the analysis what it was made for."""

from __future__ import annotations

import pytest

from analysis.efficiency import EfficiencyClass
from analysis.findings import FindingCode
from analysis.rightsizing import RecommendationKind
from cases.scorecard import drawn
from cases.scorecard import judged as assessed
from demo.library import ARCHETYPES, LIBRARY
from demo.people import HABITS

SEEDS = range(5)
OF_LOGGED_RUNS = {FindingCode.LOSS_IS_NAN, FindingCode.STEP_PAUSES}
"""Need what a script logged, which a kind does not have: `tests/analysis/progress` has situations for them."""


@pytest.mark.parametrize("kind", ARCHETYPES)
def test_the_analysis_answers_what_the_kind_was_made_for(kind: str) -> None:
    for seed in SEEDS:
        job = drawn(kind, seed)
        efficiency = (judged := assessed(job)).efficiency
        assert efficiency.efficiency_class is job.expected.efficiency_class
        assert {finding.code for finding in judged.findings} == job.expected.findings
        assert efficiency.is_partial is job.expected.is_partial
        assert efficiency.uncounted_reason == job.expected.uncounted_reason


def test_together_they_show_every_class_and_every_finding() -> None:
    expected = [archetype.expected for archetype in ARCHETYPES.values()]
    assert {each.efficiency_class for each in expected} == set(EfficiencyClass)
    assert {code for each in expected for code in each.findings} == set(FindingCode) - OF_LOGGED_RUNS


def test_the_library_holds_many_kinds_from_one_gpu_to_1024_nodes() -> None:
    gpus = {archetype.nodes * archetype.gpus for archetype in LIBRARY.values()}
    assert len(LIBRARY) >= 24
    assert (min(gpus), max(gpus)) == (1, 8192)
    assert [archetype.kind for archetype in LIBRARY.values()] == list(LIBRARY)


def test_the_index_is_by_kind_and_habits_name_kinds_that_exist() -> None:
    assert [archetype.kind for archetype in ARCHETYPES.values()] == list(ARCHETYPES)
    assert {kind for weights in HABITS.values() for turn in weights for kind in turn} <= ARCHETYPES.keys()


@pytest.mark.parametrize(
    ("kind", "name", "value"),
    [
        ("io_stall", "points_to", "io"),
        ("sync_stall", "points_to", "synchronisation"),
        ("small_light_gpu", "pattern", "low_use"),
        ("timeout_busy", "pattern", "busy"),
        ("half_a_node", "partition", "standard-g"),
    ],
)
def test_kinds_of_one_finding_differ_in_what_it_points_to(kind: str, name: str, value: str) -> None:
    finding = assessed(drawn(kind, 1)).findings[0]
    assert finding.evidence[name] == value


def test_one_busy_core_a_rank_is_shown_as_a_number_and_not_as_a_cause() -> None:
    (finding,) = assessed(drawn("one_core_per_rank", 1)).findings
    assert finding.code is FindingCode.LOW_USE_UNEXPLAINED
    assert finding.evidence["busy_cores_per_rank"] == pytest.approx(1.0, abs=0.06)


@pytest.mark.parametrize(
    ("kind", "gpus"), [("parallelism_mismatch", 2), ("single_process", 1), ("half_a_node", 4), ("no_gpu_use", 0)]
)
def test_unused_gpus_lead_to_a_smaller_request(kind: str, gpus: int) -> None:
    (advice, *_) = assessed(drawn(kind, 1)).recommendations
    assert advice.recommended_gpus == gpus


def test_one_idle_gpu_of_eight_is_something_to_look_at_and_not_a_size() -> None:
    judged = assessed(drawn("one_idle_gpu", 1))
    assert {finding.code for finding in judged.findings} == {FindingCode.IDLE_GPUS}
    assert judged.recommendations == ()


def test_memory_beyond_the_share_leads_to_less_of_it() -> None:
    (advice,) = assessed(drawn("memory_over_share", 1)).recommendations
    assert advice.kind is RecommendationKind.HOST_MEMORY


def test_a_timeout_was_busy_to_the_end_or_hung() -> None:
    finals = {
        kind: assessed(drawn(kind, 1)).findings[0].evidence["final_util_percent"]
        for kind in ("timeout_busy", "timeout_hung")
    }
    assert finals["timeout_hung"] == 0
    assert finals["timeout_busy"] > 70
