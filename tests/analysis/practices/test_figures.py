"""What may be shown of many works: hand-computed medians, and nothing about small groups or by subtraction."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest

from analysis.practices.figures import (
    HALF,
    Change,
    PracticeFigures,
    WorkFindings,
    is_group,
    mistake_figures,
    practice_figures,
)

TIMES, HOURS = (1.02, 1.05, 1.06, 1.10, 1.40), (0.50, 0.53, 0.55, 0.60, 0.70)


def changes(count: int = 5, first: int = 0, kind: str = "gpus", **more: object) -> list[Change]:
    """One work of each of so many people, each in a project of its own, each with two runs that followed."""
    return [
        Change(
            user=first + place,
            project=first + place,
            kind=kind,
            run_time_fraction=TIMES[place % 5],
            gpu_hours_fraction=HOURS[place % 5],
            following_runs=2,
            **more,
        )
        for place in range(count)
    ]


def others(count: int, first: int = 100) -> list[Change]:
    return [Change(first + place, first + place, "gpus", is_followed=False) for place in range(count)]


def shown(rows: Sequence[Change], kind: str = "gpus") -> list[PracticeFigures]:
    return practice_figures(kind, "2026-09-01", rows)


def test_five_works_of_five_people_have_the_median_of_their_changes() -> None:
    # Median of 1.02 1.05 1.06 1.10 1.40 is 1.06: 6 % longer; of .50 .53 .55 .60 .70 it is .55: 45 % fewer.
    row = shown(changes())[0]
    assert (row.followed, row.people, row.compared, row.compared_people) == (5, 5, 5, 5)
    assert (row.run_time_percent, row.gpu_hours_percent) == (6, -45)


def test_a_person_with_many_works_counts_once() -> None:
    # Sixteen works at 2.0 of one person beside four of others: 16 of 20 works is 80 %, below 85 %. Medians of people:
    # 1.02 1.05 1.06 1.10 and 2.0, of which the median is 1.06. Over works it would be 2.0.
    many = [Change(9, 9, "gpus", run_time_fraction=2.0, gpu_hours_fraction=1.0)] * 16
    assert shown([*changes(4), *many])[0].run_time_percent == 6
    # 23 of 27 works are 85.2 %: nothing is shown.
    assert shown([*changes(4), *many, *many[:7]]) == []


@pytest.mark.parametrize(("count", "rows"), [(4, 0), (5, 1)])
def test_fewer_than_five_people_are_not_shown(count: int, rows: int) -> None:
    assert len(shown(changes(count))) == rows


def test_five_people_of_four_projects_are_not_shown() -> None:
    first, *rest = changes()
    assert shown([Change(**{**vars(first), "project": rest[0].project}), *rest]) == []


def test_how_many_did_not_follow_is_shown_only_of_a_group() -> None:
    # 5 of 10 followed; with 4 others, the 4 would follow by subtraction, so only the 5 are told.
    assert [shown([*changes(), *others(count)])[0].answered for count in (5, 4, 0)] == [10, None, 5]


def test_works_that_cannot_be_compared_leave_the_changes_open() -> None:
    unknown = [Change(50 + place, 50 + place, "gpus", following_runs=1) for place in range(5)]
    row = shown([*changes(4), *unknown])[0]
    assert (row.followed, row.compared, row.run_time_percent, row.gpu_hours_percent) == (9, 0, None, None)


def test_the_share_that_failed_is_in_steps_of_five() -> None:
    # 10 runs followed, one failed: 10 %. Of 10 with 2 of 25 runs more: 3 of 35 is 8.6 %, nearest step 10.
    assert shown([*changes(4), Change(9, 9, "gpus", following_runs=2, failed_runs=1)])[0].failed_percent == 10
    # All 24 runs of one person of 28 are 85.7 %: the share is withheld, the works are not.
    one = Change(9, 9, "gpus", following_runs=46)
    assert shown([*changes(4), one])[0].failed_percent is None


def test_a_program_is_shown_beside_all_works_where_both_it_and_the_rest_are_groups() -> None:
    named = changes(5, first=0, program="CP2K")
    rows = shown([*named, *changes(5, first=10)])
    assert [(row.program, row.followed, row.answered) for row in rows] == [("", 10, 10), ("CP2K", 5, None)]
    # Four others: all works without CP2K's would be theirs.
    assert [row.program for row in shown([*named, *changes(4, first=10)])] == [""]


def test_of_a_program_nothing_is_shown_that_would_tell_of_the_few_others_that_can_be_compared() -> None:
    rest = [*changes(2, first=10), *(Change(20 + place, 20 + place, "gpus", following_runs=1) for place in range(5))]
    all_works, program = shown([*changes(5, program="CP2K"), *rest])
    assert (all_works.compared, all_works.failed_percent) == (7, 0)
    assert (program.followed, program.compared, program.run_time_percent, program.failed_percent) == (5, 0, None, None)


def test_programs_that_are_all_there_is_are_shown_only_where_each_is_a_group() -> None:
    both = [*changes(6, first=0, program="CP2K"), *changes(5, first=10, program="vLLM")]
    assert [row.program for row in shown(both)] == ["", "CP2K", "vLLM"]
    assert [row.program for row in shown([*both[:6], *both[6:10]])] == [""]


def test_works_that_went_to_half_have_nobody_who_did_not() -> None:
    row = shown(changes(kind=HALF), HALF)[0]
    assert (row.kind, row.answered, row.run_time_percent) == (HALF, None, 6)


def works(having: int, without: int, hours: Sequence[float] = (1.0, 2.0, 8.4, 9.0, 50.0)) -> list[WorkFindings]:
    with_code = [
        WorkFindings(place, place, frozenset({"idle_gpus"}), {"idle_gpus": hours[place % 5]}) for place in range(having)
    ]
    return with_code + [WorkFindings(100 + place, 100 + place, frozenset()) for place in range(without)]


def test_a_common_finding_has_its_share_of_works_and_a_typical_cost() -> None:
    # The median of 1 2 8.4 9 50 is 8.4; the step of two digits is 1: 8.
    (row,) = mistake_figures(works(5, 5), ["idle_gpus", "timeout"])
    assert (row.code, row.works, row.of_works, row.people, row.unused_gpu_hours) == ("idle_gpus", 5, 10, 5, 8.0)


@pytest.mark.parametrize(("having", "without", "rows"), [(5, 4, 0), (4, 5, 0), (5, 0, 1), (0, 9, 0)])
def test_neither_those_with_a_finding_nor_those_without_it_are_few(having: int, without: int, rows: int) -> None:
    assert len(mistake_figures(works(having, without), ["idle_gpus"])) == rows


def test_a_cost_that_was_measured_of_few_is_not_shown() -> None:
    rows = [WorkFindings(each.user, each.project, each.codes) if each.user == 0 else each for each in works(5, 5)]
    assert mistake_figures(rows, ["idle_gpus"])[0].unused_gpu_hours is None


def test_whoever_knows_four_of_five_learns_only_which_side_of_them_the_fifth_is_on() -> None:
    """The shown median of five is one of three known values for any value of the fifth below or above them."""
    known = changes(4)
    medians = {
        shown([*known, Change(9, 9, "gpus", run_time_fraction=value, gpu_hours_fraction=1.0)])[0].run_time_percent
        for value in (0.1, 0.5, 0.9, 1.02, 1.2, 2.0, 9.0)
    }
    # Of 1.02 1.05 1.06 1.10 and a fifth below 1.05 the median is 1.05, of one above 1.06 it is 1.06.
    assert medians == {5, 6}


@pytest.mark.parametrize("seed", range(60))
def test_neither_what_is_shown_nor_what_remains_of_it_is_a_small_group(seed: int) -> None:
    """Whoever subtracts programs from all works, or followers from all who answered, finds a group or nobody."""
    random = Random(seed)
    rows = [
        Change(
            user=(user := random.randrange(14)),
            project=user // random.choice((1, 1, 2)),
            kind="gpus",
            program=random.choice(("", "", "CP2K", "vLLM", "GROMACS")),
            is_followed=random.random() < 0.7,
            run_time_fraction=random.choice((None, 1.1)),
            gpu_hours_fraction=0.5,
            following_runs=1,
        )
        for _ in range(random.randrange(5, 60))
    ]
    followed = [each for each in rows if each.is_followed]
    figures = shown(rows)
    assert bool(figures) == is_group(followed)
    named = {row.program for row in figures if row.program}
    for row in figures:
        assert is_group([each for each in followed if row.program in ("", each.program)])
        if row.answered is not None:
            assert is_group([each for each in rows if not each.is_followed], may_be_empty=True)
    assert not figures or is_group([each for each in followed if each.program not in named], may_be_empty=True)


def test_a_group_without_anybody_says_nothing() -> None:
    assert not is_group([])
    assert shown([]) == []
