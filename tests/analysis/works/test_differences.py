"""What requests differ in, in sbatch's terms."""

from __future__ import annotations

from analysis.works.differences import are_own_options, changes_between, option_rows
from tests.analysis.works.cases import run

EIGHT = {"--time": "03:00:00", "--gpus": "8", "--exclusive": ""}
TWO = {"--gpus": "2", "--time": "03:00:00", "--mem": "60G"}


def test_options_stand_in_the_order_in_which_a_request_reads_best() -> None:
    rows = option_rows([run(8, 60, request=EIGHT), run(2, 60, request=TWO)])
    assert [(row.option, row.values, row.is_same) for row in rows] == [
        ("--gpus", ("8", "2"), False),
        ("--mem", (None, "60G"), False),
        ("--time", ("03:00:00", "03:00:00"), True),
        ("--exclusive", ("", None), False),
    ]


def test_one_request_that_is_not_known_makes_all_of_them_what_was_allocated() -> None:
    runs = [run(8, 60, request=EIGHT), run(2, 60)]
    assert not are_own_options(runs)
    assert {row.option: row.values for row in option_rows(runs)} == {
        "--partition": ("small-g", "small-g"),
        "--nodes": ("1", "1"),
        "--gpus-per-node": ("8", "2"),
    }


def test_nothing_is_claimed_of_a_request_of_which_nothing_is_known() -> None:
    assert changes_between(run(None, 60), run(8, 60, request=EIGHT)) is None
    assert changes_between(run(8, 60, request=EIGHT), run(8, 60, request=dict(EIGHT))) == ()
