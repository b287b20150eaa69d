"""Saved filters: one of a name, twenty a person, and nobody reads another person's."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from jobs.models import SavedFilter, User
from jobs.saved_filters.selectors import own_filters
from jobs.saved_filters.services import NameTaken, TooManyFilters, remove_filter, save_filter

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


def kept(user: User) -> list[tuple[str, str]]:
    return list(own_filters(user).values_list("name", "address"))


def test_a_filter_takes_the_place_of_the_one_of_its_name_only_where_that_is_asked_for(alice: User) -> None:
    save_filter(alice, name="to fix", address="efficiency_class=WASTED", now=NOW)
    save_filter(alice, name="mine", address="q=train", now=NOW)
    with pytest.raises(NameTaken):
        save_filter(alice, name="to fix", address="finding=timeout", now=NOW)
    save_filter(alice, name="to fix", address="efficiency_class=WASTED", now=NOW)
    assert kept(alice) == [("mine", "q=train"), ("to fix", "efficiency_class=WASTED")]
    save_filter(alice, name="to fix", address="finding=timeout", now=NOW, replaces=True)
    assert kept(alice) == [("mine", "q=train"), ("to fix", "finding=timeout")]


def test_twenty_are_kept_and_a_kept_one_can_still_be_changed(alice: User) -> None:
    for number in range(20):
        save_filter(alice, name=f"{number:02}", address="q=a", now=NOW)
    with pytest.raises(TooManyFilters):
        save_filter(alice, name="one too many", address="q=a", now=NOW)
    save_filter(alice, name="19", address="q=b", now=NOW, replaces=True)
    assert (len(kept(alice)), kept(alice)[-1]) == (20, ("19", "q=b"))
    remove_filter(own_filters(alice)[0])
    save_filter(alice, name="again", address="q=a", now=NOW)
    assert len(kept(alice)) == 20


def test_each_person_has_their_own(alice: User) -> None:
    bob = User.objects.create_user("bob")
    save_filter(alice, name="to fix", address="q=a", now=NOW)
    save_filter(bob, name="to fix", address="q=b", now=NOW)
    assert (kept(alice), kept(bob)) == ([("to fix", "q=a")], [("to fix", "q=b")])
    alice.delete()
    assert list(SavedFilter.objects.values_list("user__username", flat=True)) == ["bob"]


def test_a_name_holds_nothing_that_hides(alice: User) -> None:
    save_filter(alice, name="a\u202eb", address="q=a", now=NOW)
    assert kept(alice) == [("a\ufffdb", "q=a")]
