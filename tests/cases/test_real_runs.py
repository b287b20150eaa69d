"""The scorecard over real runs: the runs are what they were, and each thing it counts is counted by hand once."""

from __future__ import annotations

import csv
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from analysis.assess import Assessment
from analysis.findings import Finding, FindingCode
from cases.real_runs import (
    FOLDER,
    NEXT_STEPS,
    PRAISE,
    Judged,
    RealRun,
    RealScore,
    ended_in_a_crash,
    full_report,
    has_next_step,
    has_praise,
    judge,
    leaves_nothing_to_do,
    real_runs,
    score,
    table,
    untrue_idle_gpus,
)
from metrics.payloads import problems
from tests.payloads import gpu, node_payload
from tests.reports.builders import judged

RUNS = real_runs()
SILENT = "Kaiku: Job 123456\n\nWhy\n---\nNo cause was seen.\n"
LOW = [gpu(index, 50.0) for index in range(8)]


def test_all_runs_are_there_with_what_is_known_of_them() -> None:
    assert (len(RUNS), sum(bool(run.nodes) for run in RUNS)) == (133, 85)
    errors = Counter(run.last_error for run in RUNS)
    assert (errors["OutOfMemory"], errors["RuntimeError"], errors["none"]) == (7, 17, 76)
    assert Counter(run.record.state for run in RUNS) == {"COMPLETED": 64, "FAILED": 49, "CANCELLED": 20}
    assert sum(bool(run.process_gpus) for run in RUNS) == 63


def test_no_payload_of_them_is_wrong() -> None:
    assert [(run.name, found) for run in RUNS for node in run.nodes if (found := problems(node))] == []


def test_the_mean_use_of_the_payloads_is_that_of_the_table() -> None:
    with (FOLDER / "runs.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for run, row in zip(RUNS, rows, strict=True):
        shown = [gpu.avg_util for node in run.nodes for gpu in node.gpus]
        assert np.allclose(np.array(shown, dtype=float), [float(text) for text in row["avg_util"].split()], atol=0.01)


def test_every_run_can_be_judged_and_reported() -> None:
    reports = [judge(run).report for run in RUNS]
    assert len(reports) == 133
    assert all(f"Job {run.record.job_id}" in report for run, report in zip(RUNS, reports, strict=True))


def test_the_reports_of_all_runs_meet_their_targets() -> None:
    card = score(RUNS)
    assert list(card.failures()) == []
    assert (card.praised, card.short_dead_ends, card.weak) == ([], [], [])
    assert (len(card.memory_right), card.findings > 50) == (2, True)


def bare(gpus: list[dict[str, Any]] | None = LOW, *codes: str, **record: Any) -> Assessment:
    """A judged run with these findings and nothing else."""
    findings = tuple(Finding(FindingCode(code), 0.9, {}) for code in codes)
    return replace(judged(gpus, **record), findings=findings, recommendations=(), savings=None)


DEAD_ENDS = {
    "two hours at 50 % and not a word": (bare(), True),
    "efficient": (bare([gpu(0, 90.0)]), False),
    "not measured": (bare([]), False),
    "under five minutes": (bare(walltime_used_s=299), False),
    "cancelled within ten minutes": (bare(state="CANCELLED", walltime_used_s=599), False),
    "cancelled after ten minutes": (bare(state="CANCELLED", walltime_used_s=600), True),
    "ended by the system": (bare(state="NODE_FAIL"), False),
    "failed within seconds": (bare(state="FAILED", walltime_used_s=3), True),
    "failed and not measured": (bare([], state="FAILED"), True),
    "out of host memory": (bare([gpu(0, 90.0)], state="OUT_OF_MEMORY"), True),
    "out of time while efficient": (bare([gpu(0, 90.0)], state="TIMEOUT"), True),
    "with a finding": (bare(LOW, "overscaling"), False),
}


@pytest.mark.parametrize(("assessment", "expected"), DEAD_ENDS.values(), ids=DEAD_ENDS.keys())
def test_a_dead_end_is_a_poor_run_of_which_nothing_is_said(assessment: Assessment, expected: bool) -> None:
    assert leaves_nothing_to_do(assessment) is expected


def test_advice_is_something_to_do() -> None:
    advised = replace(bare(), recommendations=judged().recommendations)
    assert advised.recommendations
    assert not leaves_nothing_to_do(advised)


def test_a_next_step_is_found_in_the_report() -> None:
    assert all(has_next_step(f"{SILENT}\n{phrase.title()}\n") for phrase in NEXT_STEPS)
    assert not has_next_step(SILENT)


def test_the_card_tells_dead_ends_of_short_runs_from_others() -> None:
    short, long, card = bare(state="FAILED", walltime_used_s=9), bare(), RealScore()
    for assessment in (short, long):
        card.count(Judged(run_of(assessment), assessment))
    assert card.short_dead_ends == ["lumi/123456 FAILED after 9 s, ACCEPTABLE"]
    assert card.dead_ends == ["lumi/123456 COMPLETED after 7200 s, ACCEPTABLE"]
    assert list(card.failures()) == ["dead ends over 5 minutes: 1, target 0"]


def test_praise_is_found_however_its_lines_are_broken() -> None:
    assert all(has_praise(f"Before. {phrase.upper().replace(' ', chr(10), 1)}, after.") for phrase in PRAISE)
    assert not has_praise(SILENT)


def test_the_present_report_of_a_healthy_run_has_a_sentence_that_counts_as_praise() -> None:
    assert has_praise(full_report(bare([gpu(index, 95.0) for index in range(8)])))


def test_a_crash_is_a_failure_or_a_run_cancelled_within_ten_minutes() -> None:
    ends = [("FAILED", 7200), ("CANCELLED", 599), ("CANCELLED", 601), ("TIMEOUT", 400), ("COMPLETED", 10)]
    crashes = [ended_in_a_crash(bare(state=state, walltime_used_s=seconds)) for state, seconds in ends]
    assert crashes == [True, True, False, False, False]


def run_of(assessment: Assessment, *process_gpus: int, last_error: str | None = "none", gpus: int = 2) -> RealRun:
    nodes = (node_payload([50.0] * gpus),) if gpus else ()
    return RealRun(assessment.facts.record, nodes, frozenset(process_gpus), last_error)


def test_calling_gpus_idle_is_untrue_where_every_shown_gpu_had_a_process() -> None:
    mismatch = bare(LOW, "parallelism_mismatch", "timeout")
    said = list(untrue_idle_gpus(run_of(mismatch, 0, 1), mismatch))
    assert said == ["parallelism_mismatch {}, processes on all of GPUs [0, 1]"]
    # A process on one of the two, or on none that is known of, proves nothing against it.
    assert list(untrue_idle_gpus(run_of(mismatch, 0), mismatch)) == []
    assert list(untrue_idle_gpus(run_of(mismatch), mismatch)) == []
    assert list(untrue_idle_gpus(run_of(mismatch, 3, gpus=0), mismatch)) == []


def test_the_card_counts_out_of_memory_by_what_the_run_printed() -> None:
    said, silent, card = bare(LOW, "gpu_out_of_memory"), bare(LOW, "timeout"), RealScore()
    runs = [
        (said, run_of(said, last_error="OutOfMemory")),
        (said, run_of(said, last_error="TypeError")),
        (said, run_of(said, last_error=None)),
        (silent, run_of(silent, last_error="OutOfMemory")),
        (silent, run_of(silent, last_error="OutOfMemory", gpus=0)),
    ]
    for assessment, run in runs:
        card.count(Judged(run, assessment))
    counts = (card.memory_right, card.memory_false, card.memory_missed, card.memory_unseen)
    assert [len(lines) for lines in counts] == [1, 1, 1, 1]
    assert (card.runs, card.measured, card.findings) == (5, 4, 5)
    assert list(card.failures()) == ["false out-of-memory: 1, target 0"]


def test_the_card_names_what_misses_a_target_and_prints_every_count() -> None:
    card = RealScore()
    weak = Finding(FindingCode.NO_GPU_USE, 0.9, {}), Finding(FindingCode.LOAD_IMBALANCE, 0.01, {})
    contradictory = replace(bare(), findings=weak)
    card.count(Judged(run_of(contradictory), contradictory))
    assert card.contradictory[0] == "lumi/123456 no_gpu_use beside load_imbalance"
    assert card.weak == ["lumi/123456 load_imbalance at 1%"]
    assert [line.partition(":")[0] for line in card.failures()] == ["contradictions"]
    assert any(line.startswith("contradictions") and line.endswith(" 2") for line in table(card))
