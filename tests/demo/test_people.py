"""The people of the sample jobs: each project is led, each story is told, nobody is real."""

from __future__ import annotations

from collections import Counter

import pytest

from demo.people import HABITS, Person, sample_people


def test_fifteen_users_share_five_projects_and_each_project_has_one_pi() -> None:
    people = sample_people(seed=1)
    assert len({person.username for person in people}) == 15
    assert Counter(person.project for person in people) == {f"project_46500000{number}": 3 for number in range(1, 6)}
    assert sorted(person.project for person in people if person.leads) == [f"project_46500000{n}" for n in range(1, 6)]


def test_one_improves_one_declines_one_wastes_and_most_are_fine() -> None:
    habits = Counter(person.habit for person in sample_people(seed=1))
    assert habits == {"mixed": 8, "careful": 4, "improving": 1, "declining": 1, "wasteful": 1}


def test_the_seed_deals_out_the_habits() -> None:
    assert sample_people(seed=1) == sample_people(seed=1)
    assert sample_people(seed=1) != sample_people(seed=2)


@pytest.mark.parametrize("users", [1, 2, 3, 4, 60])
def test_any_number_of_users_is_named_once_and_one_has_mixed_habits(users: int) -> None:
    people = sample_people(seed=1, users=users, projects=1)
    assert len({person.username for person in people}) == users
    assert "mixed" in {person.habit for person in people}


@pytest.mark.parametrize(("users", "projects"), [(4, 5), (0, 0), (3, 0)])
def test_a_project_without_a_pi_is_refused(users: int, projects: int) -> None:
    with pytest.raises(ValueError, match="projects need"):
        sample_people(seed=1, users=users, projects=projects)


def test_habits_go_from_those_of_the_first_day_to_those_of_the_last() -> None:
    person = Person("alice", "project_465000001", False, "improving", 1)
    first, last = HABITS["improving"]
    assert {kind: weight for kind, weight in person.kind_weights(0.0).items() if weight} == first
    assert {kind: weight for kind, weight in person.kind_weights(1.0).items() if weight} == last
    # Half way: the mean of no weight before and 6 after.
    assert person.kind_weights(0.5)["efficient_training"] == 3.0
