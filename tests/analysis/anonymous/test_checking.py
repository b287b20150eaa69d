"""The check finds each way in which rows could reveal somebody; it has its own idea of all of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from analysis.anonymous.checking import Behind, problems

ROW = {
    **{"program": "gromacs", "science_field": "Physics", "gpu": "AMD MI250X GCD", "partition_type": "shared"},
    **{"gpus": "5-8", "run_time_h": "1-4", "ending": "completed", "efficiency_class": "WASTED"},
    **{"gpu_use_percent": "5-15", "gpu_memory_percent": "25-50", "finding": "none"},
}
Rows = list[dict[str, Any]]
Owners = dict[str, Behind]


def good() -> tuple[Rows, Owners]:
    """Six people with one class and six with another, each in a project of their own."""
    keys = [f"{number:016x}" for number in range(12)]
    rows = [{"key": key, **ROW} for key in keys]
    for row in rows[6:]:
        row["efficiency_class"], row["gpu_use_percent"] = "EFFICIENT", "85-100"
    return rows, {key: Behind(number, frozenset({number}), 10.0) for number, key in enumerate(keys)}


def test_rows_that_hide_everybody_pass() -> None:
    assert problems(*good()) == []
    assert problems([], {}) == []


def two_rows_of_one(rows: Rows, behind: Owners) -> None:
    behind[rows[1]["key"]] = behind[rows[0]["key"]]


def four_people(rows: Rows, behind: Owners) -> None:
    del rows[4:6]


def one_team(rows: Rows, behind: Owners) -> None:
    for row in rows[:6]:
        behind[row["key"]] = replace(behind[row["key"]], projects=frozenset({1, 2}))


def most_of_one_project(rows: Rows, behind: Owners) -> None:
    for row in rows[:4]:
        behind[row["key"]] = replace(behind[row["key"]], projects=behind[row["key"]].projects | {77})


def one_with_nearly_all(rows: Rows, behind: Owners) -> None:
    behind[rows[0]["key"]] = replace(behind[rows[0]["key"]], gpu_hours=1000.0)


def one_class(rows: Rows, behind: Owners) -> None:
    del rows[6:]


def nearly_one_class(rows: Rows, behind: Owners) -> None:
    for number in range(100, 130):
        rows.append({"key": f"{number:016x}", **ROW})
        behind[f"{number:016x}"] = Behind(number, frozenset({number}), 10.0)


def one_finding(rows: Rows, behind: Owners) -> None:
    for row in rows:
        row["finding"] = "no_gpu_use"


def one_bad_end(rows: Rows, behind: Owners) -> None:
    for row in rows:
        row["ending"] = "out_of_memory"


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (two_rows_of_one, "a person has several rows"),
        (four_people, "fewer than 5 people"),
        (one_team, "fewer than 5 projects"),
        (most_of_one_project, "more than half of the people are of one project"),
        (one_with_nearly_all, "more than 85 % of the GPU-hours"),
        (one_class, "efficiency_class is the same"),
        (nearly_one_class, "efficiency_class is the same"),
        (one_finding, "finding is the same"),
        (one_bad_end, "ending is the same"),
    ],
)
def test_each_way_to_reveal_somebody_is_found(spoil: Callable[[Rows, Owners], None], said: str) -> None:
    rows, behind = good()
    spoil(rows, behind)
    assert any(said in text for text in problems(rows, behind))


@pytest.mark.parametrize(
    "change",
    [
        {"gpus": "8 of alice"},
        {"gpus": "6543"},
        {"run_time_h": "2.25"},
        {"run_time_h": "2026-10-05"},
        {"gpu_use_percent": "8.13"},
        {"ending": "COMPLETED"},
        {"program": "Alice's model"},
        {"science_field": "Physics\x1b[2J"},
        {"key": "alice"},
        {"user": "alice"},
        {"finding": "nid005123"},
    ],
)
def test_what_is_no_band_or_word_of_the_format_is_found(change: dict[str, str]) -> None:
    rows, behind = good()
    rows[0] |= change
    assert problems(rows, behind) != []


def test_a_key_that_is_used_twice_or_has_nobody_behind_it_is_found() -> None:
    rows, behind = good()
    assert problems([*rows, rows[0]], behind) != []
    del behind[rows[0]["key"]]
    assert problems(rows, behind) != []


def test_what_is_found_names_no_value_and_nobody() -> None:
    rows, behind = good()
    one_class(rows, behind)
    assert problems(rows, behind) == [
        "The column efficiency_class is the same for nearly all people with the same work."
    ]
