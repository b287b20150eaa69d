"""The typical wait: which starts count, how much, and when there is no answer; all values worked by hand."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from analysis.queue_waits.rule import Alike, Start, quantile, starts_of, together_weights, typical_wait
from tests.analysis.queue_waits.starts import NOON_S, asked, evenly, queue, start


def test_the_typical_wait_is_the_median_of_the_starts_most_like_the_job() -> None:
    # 15 waits of 10 to 150 min: the eighth is 80 min. Others that are larger, longer or elsewhere do not count.
    others = [
        *(start(9000.0, person=n, gpus=8) for n in range(1, 20)),
        *(start(9000.0, person=n, limit_s=86_400.0) for n in range(1, 20)),
        *(start(9000.0, person=n, nodes=3) for n in range(1, 20)),
    ]
    found = typical_wait(queue(*evenly(15), *others), asked())
    assert found is not None
    assert (found.wait_s, found.starts, found.people) == (80 * 60, 15, 5)
    assert found.alike is Alike.SIZE_AND_LIMIT


def test_nothing_is_answered_from_fewer_than_fifteen_starts() -> None:
    assert typical_wait(queue(*evenly(14)), asked()) is None
    assert typical_wait(queue(), asked()) is None


@pytest.mark.parametrize(
    ("changes", "alike"),
    [
        # Twice as much is still like it, more is not.
        ({"limit_s": 14_400.0}, Alike.SIZE_AND_LIMIT),
        ({"limit_s": 14_401.0}, Alike.SIZE),
        ({"gpus": 2}, Alike.SIZE_AND_LIMIT),
        ({"gpus": 3}, Alike.PARTITION),
        ({"gpus": 0}, Alike.PARTITION),
        ({"nodes": 4}, Alike.PARTITION),
        ({"limit_s": None}, Alike.SIZE),
    ],
)
def test_less_alike_starts_count_where_there_are_too_few_alike(changes: dict[str, float], alike: Alike) -> None:
    found = typical_wait(queue(*evenly(15)), asked(**changes))
    assert found is not None
    assert (found.alike, found.wait_s) == (alike, 80 * 60)


def test_recent_starts_count_more() -> None:
    # Ten runs waited 10 min three weeks ago and ten 100 min yesterday: half-lives of 7 days make 10/8 against 10.
    old = [start(10.0, 22 * 24, person=n % 5) for n in range(10)]
    new = [start(100.0, 24, person=n % 5 + 5) for n in range(10)]
    found = typical_wait(queue(*old, *new), asked())
    assert found is not None
    assert found.wait_s == 6000


def test_starts_of_the_own_project_count_five_times() -> None:
    # Fourteen waited 10 min; three of project 9 waited 100 min and weigh as 15.
    others = [start(10.0, 24 + n, person=n % 5 + 1) for n in range(14)]
    own = [start(100.0, 24 + 2 * n, person=6, project=9) for n in range(3)]
    found, stranger = (typical_wait(queue(*others, *own), asked(project=project)) for project in (9, 8))
    assert found is not None
    assert stranger is not None
    assert (found.wait_s, stranger.wait_s) == (6000, 600)


def test_a_colleague_never_has_most_of_the_weight() -> None:
    # Twelve of 18 starts are of one colleague: 60 of 66 with the weight of the own project, 91 %. So they count once.
    others = [start(10.0, 24 + n, person=n + 1) for n in range(6)]
    colleague = [start(100.0, 24 + 2 * n, person=7, project=9) for n in range(8)]
    more = [start(30.0 + n, 24 + 2 * n, person=7, project=9) for n in range(4)]
    rows = queue(*others, *colleague, *more)
    found = [typical_wait(rows, asked(project=9, user=user)) for user in (8, 7)]
    # Sorted: six of 10 min, four of 30 to 33 min, eight of 100 min: once each the ninth is 32 min, else 100 min.
    assert [one and round(one.wait_s / 60) for one in found] == [32, 100]


def test_what_was_submitted_together_counts_as_its_square_root() -> None:
    assert together_weights(np.array([0, 0, 0, 0, 1])).tolist() == [0.5, 0.5, 0.5, 0.5, 1.0]
    # An array of 100 tasks weighs as 10 starts; 11 single ones outweigh it.
    array = [start(1000.0, person=7) for _ in range(100)]
    single = [start(10.0, 24 + n, person=n % 5 + 1) for n in range(11)]
    found = typical_wait(queue(*array, *single), asked())
    assert found is not None
    assert (found.wait_s, found.starts) == (600, 111)


def test_an_array_of_ten_thousand_tasks_hides_nobody_and_answers_nothing() -> None:
    # Only the latest 3,000 starts are read: all of them are of one person.
    array = [start(1000.0, 1.0, person=7) for _ in range(10_000)]
    assert typical_wait(queue(*array, *evenly(200)), asked()) is None
    # Read together with the others, its weight is that of 50 starts of 70: below 85 %.
    found = typical_wait(queue(*array[:2500], *evenly(20, hours_before=0.9)), asked())
    assert found is not None
    assert found.starts == 2520


@pytest.mark.parametrize(
    ("people", "own", "is_answered"),
    [
        ([1, 2, 3, 4], None, False),
        ([1, 2, 3, 4, 5], None, True),
        ([1], 1, True),
        ([1], 2, False),
        # The asking person counts as one of five, and may have most of the starts; nobody else may.
        ([1, 2, 3, 4], 4, False),
        ([1] * 96 + [2, 3, 4, 5], 1, True),
        ([1] * 96 + [2, 3, 4, 5], 2, False),
    ],
)
def test_starts_of_few_people_are_not_shown(people: list[int], own: int | None, is_answered: bool) -> None:
    # Hours apart, so that each is a submission of its own.
    count = max(len(people), 20)
    rows = [start(30.0, 2 + 3 * n, person=people[n % len(people)]) for n in range(count)]
    assert (typical_wait(queue(*rows), asked(user=own)) is not None) == is_answered


def test_starts_that_are_not_known_yet_do_not_count() -> None:
    # Fourteen ended; the fifteenth started an hour ago and ends a second after noon.
    late = start(30.0, 1.0, person=6)
    assert typical_wait(queue(*evenly(14), late._replace(ended_s=NOON_S + 1)), asked()) is None
    assert typical_wait(queue(*evenly(14), late._replace(ended_s=NOON_S)), asked()) is not None
    # Nor do those of more than 60 days before.
    assert typical_wait(queue(*evenly(15, hours_before=60 * 24 + 1)), asked()) is None


def test_impossible_and_held_starts_are_left_out() -> None:
    run = start(30.0)
    assert run.eligible_s is not None
    absurd = [
        run._replace(eligible_s=None),
        run._replace(started_s=None),
        run._replace(ended_s=None),
        run._replace(started_s=run.eligible_s - 1),
        run._replace(ended_s=run.eligible_s),
        run._replace(eligible_s=-4e9, submitted_s=-4e9),
        run._replace(submitted_s=run.eligible_s + 61),
    ]
    assert (len(starts_of(absurd)), starts_of(absurd).held) == (0, 0)
    # An array's limit, a dependency or --begin held it for 61 s; 60 s may be Slurm's own delay.
    held = [run._replace(submitted_s=run.eligible_s - 61), run._replace(submitted_s=run.eligible_s - 60)]
    assert (len(starts_of(held)), starts_of(held).held) == (1, 1)
    # Without a time of submission it was not held as far as is known; without sizes it had no GPU and one node.
    unknown = starts_of([run._replace(submitted_s=None, gpus=None, nodes=None, limit_s=None)])
    assert (unknown.submitted_s[0], unknown.gpus[0], unknown.nodes[0]) == (run.eligible_s, 0, 1)
    assert np.isnan(unknown.limit_s[0])


def test_a_wait_under_a_minute_counts_as_a_minute() -> None:
    found = typical_wait(queue(*(start(0.0, 2 + n, person=n % 5) for n in range(15))), asked())
    assert found is not None
    assert found.wait_s == 60


def test_what_one_person_requests_within_a_clock_hour_is_one_submission() -> None:
    def at(minute: float, **changes: Any) -> Start:
        submitted_s = NOON_S + minute * 60
        return start(1.0, -2.0, **({"submitted_s": submitted_s, "eligible_s": submitted_s} | changes))

    rows = [at(0), at(59), at(0, user=2), at(0, gpus=2), at(0, limit_s=None), at(-1), at(60)]
    # In the order of their start, which is the same for all.
    assert [number == starts_of(rows).submission[0] for number in starts_of(rows).submission] == [
        True,
        True,
        *[False] * 5,
    ]
    assert len(set(starts_of(rows).submission.tolist())) == 6


def test_a_weighted_quantile_is_the_value_up_to_which_its_part_of_the_weight_lies() -> None:
    values, weights = np.array([10.0, 20.0, 30.0, 40.0]), np.array([1.0, 1.0, 1.0, 7.0])
    assert [quantile(values, weights, part) for part in (0.1, 0.11, 0.3, 0.5, 1.0)] == [10, 20, 30, 40, 40]
