"""Numbers that only grow, whoever counts and however many at once."""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import OperationalError, connection
from django.utils import timezone

from jobs.models import Tally
from jobs.tallies.kinds import Count, Times, running_total
from jobs.tallies.selectors import counted_since, tallies
from jobs.tallies.services import add, since_end

DOORS = Count("doors", "How often doors opened", ("side", "colour"))
WALKS = Times("walks", "How long walks took", (1, 10), ("way",))


@pytest.mark.django_db
def test_what_is_counted_adds_up_by_its_labels() -> None:
    add(DOORS.of("left", "red"), DOORS.of("right", "a \"quoted\\\n 'colour'"))
    add(DOORS.of("left", "red", times=2.5), DOORS.of("left", "blue", times=0))
    assert tallies() == {"doors": {("left", "red"): 3.5, ("right", "a \"quoted\\\n 'colour'"): 1.0}}


@pytest.mark.django_db
def test_a_time_is_counted_in_the_class_that_it_ends_in() -> None:
    for seconds in (0.0, 1.0, 1.001, 10.0, 11.0, 1e9):
        add(WALKS.of(seconds, "home"))
    found = tallies()
    classes = {limit: count for (_, limit), count in found["walks_class"].items()}
    # A class holds what took at most as long as its name says.
    assert list(running_total(classes, WALKS.classes)) == [("1", 2), ("10", 4), ("+Inf", 6)]
    assert found["walks_sum"] == {("home",): pytest.approx(1e9 + 23.001)}


@pytest.mark.django_db
def test_nothing_is_asked_of_the_database_where_nothing_is_counted(django_assert_num_queries) -> None:
    with django_assert_num_queries(0):
        add()
        add(DOORS.of("left", "red", times=0))


@pytest.mark.django_db
def test_a_database_that_is_away_stops_no_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OperationalError("away")

    with monkeypatch.context() as patch:
        patch.setattr(connection, "cursor", unreachable)
        add(DOORS.of("left", "red"))
    assert tallies() == {}


@pytest.mark.django_db
def test_the_first_and_the_last_time_are_kept() -> None:
    add(DOORS.of("left", "red"))
    first = timezone.now() - timedelta(days=2)
    Tally.objects.update(first_at=first, last_at=first)
    yesterday = timezone.now() - timedelta(days=1)
    assert counted_since("doors", yesterday) == []
    add(DOORS.of("left", "red"))
    ((labels, row),) = counted_since("doors", yesterday)
    assert (labels, row.first_at, row.value) == (("left", "red"), first, 2)


def test_runs_that_ended_long_ago_or_have_no_end_say_nothing_of_how_late_this_site_is() -> None:
    now = timezone.now()
    ended = [now - timedelta(days=8), None, now - timedelta(seconds=5), now + timedelta(minutes=1)]
    counts = since_end(WALKS, *ended)
    assert counts["walks_class", ("10",)] == 1
    assert counts["walks_class", ("1",)] == 0
    assert math.isclose(counts["walks_sum", ()], 5, abs_tol=1)


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_nothing_is_lost_where_many_count_at_once() -> None:

    def count(who: int) -> None:
        for number in range(50):
            add(DOORS.of("left", "red"), DOORS.of("right", "red"), WALKS.of(float(number), str(who % 2)))
        connection.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(count, range(8)))
    found = tallies()
    assert found["doors"] == {("left", "red"): 400, ("right", "red"): 400}
    assert sum(found["walks_class"].values()) == 400
    assert sum(found["walks_sum"].values()) == 8 * sum(range(50))
