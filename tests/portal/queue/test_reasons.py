"""Slurm's reasons in plain words: what this module knows, and whether earlier waits say something about it."""

from __future__ import annotations

import pytest

from portal.charts.queue_reasons import BLOCKED, BY_START, IN_TURN, MINUTES, RUN_MINUTES, is_in_turn, reason_text

NODES = "Nodes required for job are DOWN, DRAINED or reserved for jobs in"


@pytest.mark.parametrize(
    "reason", ["", "Priority", "Resources", NODES, "Nodes_required_for_job_are_DOWN", "Nodes required for job are DOWN"]
)
def test_the_queue_alone_delays_these(reason: str) -> None:
    assert is_in_turn(reason)
    assert reason_text(reason) in IN_TURN.values()


@pytest.mark.parametrize("reason", [*BLOCKED, "AssocGrpGRESMinutes", "QOSMaxSubmitJobPerUserLimit", "Prolog"])
def test_something_else_delays_these(reason: str) -> None:
    assert not is_in_turn(reason)


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("AssocGrpGRESMinutes", MINUTES),
        ("AssocGrpBillingMinutes", MINUTES),
        ("AssocGrpCPUMinutesLimit", MINUTES),
        ("AssocGrpGRESRunMinutes", RUN_MINUTES),
        ("AssocGrpCPURunMinutesLimit", RUN_MINUTES),
        ("AssocGrpGRES", BLOCKED["AssocGrpGRES"]),
        ("AssocGrpMemLimit", BY_START["AssocGrp"]),
        ("AssocMaxGRESMinutesPerJob", BY_START["AssocMax"]),
        ("QOSMaxJobsPerUserLimit", BLOCKED["QOSMaxJobsPerUserLimit"]),
        ("QOSGrpGRES", BY_START["QOSGrp"]),
        ("QOSMinGRES", BY_START["QOSMin"]),
        ("QOSNotAllowed", BY_START["QOS"]),
        ("MaxMemoryPerAccount", BY_START["Max"]),
        ("BurstBufferStageIn", BY_START["BurstBuffer"]),
        ("SomethingNew", ""),
    ],
)
def test_limits_are_explained_by_family(reason: str, text: str) -> None:
    assert reason_text(reason) == text


def test_no_explanation_blames_and_each_is_a_sentence() -> None:
    texts = [*IN_TURN.values(), *BLOCKED.values(), *BY_START.values(), MINUTES, RUN_MINUTES]
    assert [text for text in texts if not text.endswith(".") or not text[0].isupper()] == []
