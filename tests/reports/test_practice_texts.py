"""Sentences about what many works did: every number in them is stored, and what is withheld is not mentioned."""

from __future__ import annotations

from dataclasses import dataclass

import msgspec
import pytest

from analysis.practices.figures import HALF, MistakeFigures, PracticeFigures
from reports.practice_texts import mistake_text, practice_text
from wire.numbers import NO_BREAK

GPUS = PracticeFigures(
    "gpus",
    "2026-08-01",
    followed=12,
    people=8,
    answered=31,
    compared=11,
    compared_people=7,
    run_time_percent=6,
    gpu_hours_percent=-41,
    failed_percent=0,
)


@dataclass(frozen=True)
class Case:
    changed: dict[str, object]
    said: str


CASES = (
    Case(
        {},
        "Advice on fewer GPUs, or others: 12 of 31 works followed it (8 people). Of these, 11 can be compared (7"
        " people): their runs took 6 % longer and were billed 41 % fewer GPU-hours (median). Under 5 % of the runs that"
        " followed ran out of memory or time.",
    ),
    Case(
        {"answered": None, "run_time_percent": None, "failed_percent": 15},
        "Advice on fewer GPUs, or others: 12 works followed it (8 people). About 15 % of the runs that followed ran"
        " out of memory or time.",
    ),
    Case(
        {"kind": HALF, "program": "CP2K", "failed_percent": None},
        "CP2K: 12 works went to half of their GPUs (8 people): their runs took 6 % longer and were billed 41 % fewer"
        " GPU-hours (median).",
    ),
    Case(
        {"kind": "walltime", "program": "vLLM", "answered": None, "run_time_percent": None, "failed_percent": None},
        "vLLM: advice on another time limit: 12 works followed it (8 people).",
    ),
    Case(
        {"kind": HALF, "run_time_percent": 0, "gpu_hours_percent": 3},
        "12 works went to half of their GPUs (8 people): their runs took as long and were billed 3 % more GPU-hours"
        " (median).",
    ),
)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.said[:30])
def test_a_practice_is_said_with_what_is_stored_of_it(case: Case) -> None:
    row = msgspec.structs.replace(GPUS, **case.changed)
    assert practice_text(row).replace(NO_BREAK, " ") == case.said


def test_a_common_finding_is_said_with_its_share_and_its_cost() -> None:
    row = MistakeFigures("idle_gpus", works=34, of_works=280, people=15, unused_gpu_hours=8.0)
    assert mistake_text(row).replace(NO_BREAK, " ") == (
        "Some GPUs stayed idle: 34 of 280 works (15 people). Such a work left 8.00 GPU-hours unused in the month"
        " (median)."
    )
    no_cost = msgspec.structs.replace(row, unused_gpu_hours=None)
    assert mistake_text(no_cost).endswith("(15 people).")
