"""Whatever runs a month has, the check finds nothing, and an insider finds nobody."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.anonymous.bands import COLUMNS, Run
from analysis.anonymous.grouping import anonymised
from analysis.anonymous.month import NotAnonymousError, figures_of, rows_of
from bench.linking import SUCCESS_MAX, attack
from bench.linking_people import drawn_people, sample_month

SECRET = b"of this test alone"
CLASSES = ("EFFICIENT", "ACCEPTABLE", "INEFFICIENT", "WASTED", "UNKNOWN")
RUNS = st.builds(
    Run,
    person=st.integers(0, 30),
    project=st.integers(0, 12),
    gpu_hours=st.floats(1e-3, 1e6),
    program=st.sampled_from(("gromacs", "cp2k", "unknown")),
    science_field=st.sampled_from(("Physics", "Biology", "", "any", "other")),
    gpu=st.sampled_from(("MI250X", "")),
    partition_type=st.sampled_from(("shared", "whole_nodes", "unknown")),
    gpus=st.none() | st.integers(0, 10_000),
    run_time_h=st.none() | st.floats(allow_nan=True),
    state=st.sampled_from(("COMPLETED", "FAILED", "TIMEOUT", "DEADLINE", "")),
    efficiency_class=st.sampled_from(CLASSES),
    gpu_use_percent=st.none() | st.floats(0, 100),
    gpu_memory_percent=st.none() | st.floats(-1, 200),
    finding=st.sampled_from(("none", "overscaling", "timeout")),
)


@given(st.lists(RUNS, max_size=150))
@settings(max_examples=40)
def test_the_check_finds_nothing_in_what_was_made_of_any_runs(runs: list[Run]) -> None:
    figures = figures_of(runs, SECRET)
    rows = list(rows_of(figures))
    assert all(tuple(row) == ("key", *COLUMNS) for row in rows)
    assert figures.count == len(rows)
    assert all(each.people_at_most % 5 == 0 for each in figures.withheld)
    assert msgspec.convert(msgspec.json.decode(msgspec.json.encode(figures)), type(figures)) == figures


@given(st.lists(RUNS, max_size=150), st.randoms(use_true_random=False))
@settings(max_examples=15)
def test_the_order_of_runs_changes_nothing(runs: list[Run], dice) -> None:
    mixed = list(runs)
    dice.shuffle(mixed)
    # Hours are added in another order: only a sum at the border of 85 % could differ.
    assert [row.key for row in anonymised(runs, SECRET).rows] == [row.key for row in anonymised(mixed, SECRET).rows]


@given(st.lists(RUNS, min_size=20, max_size=150))
@settings(max_examples=25)
def test_an_insider_guesses_no_row_of_anybody_better_than_once_in_five(runs: list[Run]) -> None:
    assert attack(runs, anonymised(runs, SECRET)).chance_max <= SUCCESS_MAX


@pytest.mark.parametrize("people", [15, 80])
def test_the_attack_on_people_with_habits_fails(people: int) -> None:
    runs = list(drawn_people(people))
    result = attack(runs, anonymised(runs, SECRET))
    assert result.rows > people
    assert result.chance_max <= SUCCESS_MAX
    assert result.guesses_right <= SUCCESS_MAX
    assert result.class_certain == 0
    # Why no key links the rows of a person: which groups somebody is in, all together, is as good as a name.
    assert result.unique_if_linked > (people / 2 if people > 15 else 0)


def test_rows_that_the_check_refuses_are_not_made() -> None:
    runs = [Run(number, number, 1.0, program="Alice's model", state="COMPLETED") for number in range(5)]
    with pytest.raises(NotAnonymousError, match="other columns or values than documented") as refused:
        figures_of(runs, SECRET)
    assert "Alice" not in str(refused.value)


def test_nobody_of_the_demos_people_is_linked_and_too_few_of_them_are_withheld() -> None:
    few, many = (list(sample_month(*size)) for size in ((15, 2, 60), (40, 20, 150)))
    made = anonymised(few, SECRET)
    assert (made.rows, made.withheld) == ((), {"few_projects": len({run.person for run in few})})
    result = attack(many, anonymised(many, SECRET))
    assert result.people_with_rows > 30
    assert result.chance_max <= SUCCESS_MAX
    assert result.class_certain == 0
