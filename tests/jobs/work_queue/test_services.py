"""Work that fails is noted, tried again after growing pauses, set aside, and stops nothing."""

from __future__ import annotations

import binascii
import json
import sqlite3
import struct
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from django.db import OperationalError, connection

from jobs.models import WorkFailure
from jobs.work_queue import services
from jobs.work_queue.selectors import TRIES_MAX, failure_counts, failures, held_back
from jobs.work_queue.services import (
    Round,
    Work,
    WorkFailed,
    attempt,
    attempt_by_hand,
    attempt_each,
    note_ended_processes,
    open_changed,
    this_process,
    try_again,
)

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 20, 12, tzinfo=UTC)


def failing(*bad: int) -> tuple[Work, list[int]]:
    """Work that notes what it is called for, and fails for some."""
    called: list[int] = []

    def step(key: int) -> bool:
        called.append(key)
        if key in bad:
            raise ValueError("holds alice's secret")
        return key % 2 == 1

    return Work("work", step), called


def do(work: Work, *keys: int, now: datetime = NOW) -> int:
    return attempt_each(work, [keys], now).done


def waits(now: datetime = NOW) -> set[int]:
    return {key for key, is_held in held_back("work", range(100), now).items() if is_held}


def test_what_is_done_leaves_no_row_and_what_fails_stops_nothing() -> None:
    work, called = failing(3, 7)
    # Of 45 keys 23 are odd, and two of these fail.
    assert do(work, *range(1, 46)) == 21
    assert called == list(range(1, 46))
    assert sorted(failures("work").values_list("key", flat=True)) == [3, 7]
    assert WorkFailure.objects.count() == 2
    row = WorkFailure.objects.get(key=3)
    assert (row.tries, row.first_at, row.last_at, row.next_at) == (1, NOW, NOW, NOW + timedelta(minutes=1))
    assert row.error.startswith("ValueError at tests/jobs/work_queue/test_services.py:")
    assert "alice" not in row.error


def test_the_log_names_the_piece_and_its_error_and_repeats_nothing_of_what_it_said(caplog) -> None:
    do(replace(failing(3)[0], name=lambda key: f"lumi/{key}000"), 3)
    assert caplog.messages == [f"work lumi/3000 failed: {WorkFailure.objects.get().error}"]


def test_a_naming_that_fails_hides_no_failure(caplog) -> None:
    def unnamed(key: int) -> str:
        raise LookupError("alice's run is gone")

    do(replace(failing(3)[0], name=unnamed), 3, 5)
    row = WorkFailure.objects.get()
    assert (row.key, row.tries) == (3, 1)
    assert caplog.messages == [f"work 3 failed: {row.error}"]


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (struct.error("x"), "struct.error at "),
        (zlib.error("x"), "zlib.error at "),
        (binascii.Error("x"), "binascii.Error at "),
        (Exception("x"), "builtins.Exception at "),
        (KeyError("x"), "KeyError at "),
        (json.JSONDecodeError("x", "", 0), "JSONDecodeError at "),
    ],
)
def test_an_error_is_named_with_its_module_where_its_name_says_nothing(error: Exception, named: str) -> None:
    def step(key: int) -> bool:
        raise error

    do(Work("work", step), 1)
    assert WorkFailure.objects.get().error.startswith(named)


def test_changed_data_open_only_what_was_tried_before_they_changed() -> None:
    for key, tries in ((1, 5), (2, 5), (3, 1), (4, 1)):
        for day in range(tries):
            do(failing(key)[0], key, now=NOW + timedelta(days=day))
    last, late = NOW + timedelta(days=4), NOW + timedelta(days=5)
    changed_at = {1: last + timedelta(hours=1), 2: last - timedelta(hours=1), 3: NOW + timedelta(seconds=1), 4: NOW}
    assert open_changed("other", changed_at, late) == 0
    assert open_changed("work", changed_at, late) == 2
    assert open_changed("work", changed_at, late) == 0
    opened = failures("work").filter(tries=1, next_at=None, set_aside_at=None)
    assert sorted(opened.values_list("key", flat=True)) == [1, 3]


def test_by_hand_a_piece_is_tried_however_often_it_failed_unless_another_worker_is_at_it() -> None:
    for day in range(5):
        do(failing(1)[0], 1, now=NOW + timedelta(days=day))
    later = NOW + timedelta(days=4)
    with pytest.raises(WorkFailed, match=r"^work 1 failed: ValueError at tests/jobs/work_queue/"):
        attempt_by_hand(failing(1)[0], 1, later)
    row = WorkFailure.objects.get()
    assert (row.tries, row.set_aside_at) == (6, later)
    WorkFailure.objects.update(owner="elsewhere 17 99 0", claimed_until=later + timedelta(minutes=1))
    assert attempt_by_hand(failing()[0], 1, later) == 0
    WorkFailure.objects.update(owner="", claimed_until=None)
    assert attempt_by_hand(failing()[0], 1, later) == 1
    assert not WorkFailure.objects.exists()


def test_a_round_ends_with_what_was_asked_for() -> None:
    work, called = failing()
    # A quarter of 100, but never more than 20 at a time: half of these do something.
    assert attempt_each(work, [range(100)], NOW, limit=10) == Round(10, is_all=False)
    assert called == list(range(20))
    assert attempt_each(work, [range(20, 24)], NOW, limit=10) == Round(2, is_all=True)


def test_pauses_grow_fivefold_and_the_fifth_failure_sets_it_aside() -> None:
    work, called = failing(4)
    now, pauses = NOW, []
    while not pauses or not WorkFailure.objects.get().set_aside_at:
        do(work, 4, now=now)
        row = WorkFailure.objects.get()
        pauses.append((row.next_at - now).total_seconds() / 60)
        assert waits(now) == {4}
        now = row.next_at
    assert pauses[:4] == [1, 5, 25, 125]
    assert called == [4] * 5
    assert waits(now + timedelta(days=999)) == {4}
    assert failure_counts() == {("work", "set_aside"): 1}


def test_what_comes_back_by_itself_is_never_set_aside() -> None:
    work = replace(failing(4)[0], is_recurring=True)
    for day in range(9):
        do(work, 4, now=NOW + timedelta(days=day))
    row = WorkFailure.objects.get()
    assert (row.tries, row.set_aside_at, row.next_at) == (9, None, NOW + timedelta(days=8, minutes=125))


def test_what_succeeds_at_last_is_forgotten() -> None:
    do(failing(1)[0], 1)
    assert do(failing()[0], 1, now=NOW + timedelta(hours=1)) == 1
    assert not WorkFailure.objects.exists()


def test_what_failed_is_tried_again_though_nobody_names_it_and_only_while_it_is_due() -> None:
    do(failing(1, 2)[0], 1, 2)
    work, called = failing()
    still_due = replace(work, still_due=lambda keys: [key for key in keys if key != 2])
    assert do(still_due, now=NOW + timedelta(hours=1)) == 1
    assert called == [1]
    assert not WorkFailure.objects.exists()


def test_an_administrator_has_it_tried_again_at_once() -> None:
    for day in range(5):
        do(failing(1)[0], 1, now=NOW + timedelta(days=day))
    assert failure_counts() == {("work", "set_aside"): 1}
    assert try_again(failures()) == 1
    assert waits(NOW + timedelta(days=4)) == set()


def test_kinds_do_not_mix() -> None:
    do(failing(1)[0], 1)
    assert held_back("work", [1], NOW) == {1: True}
    assert held_back("other", [1], NOW) == {}
    other = replace(failing()[0], kind="other")
    assert do(other, 1) == 1


def test_what_another_worker_has_is_left_to_it() -> None:
    """Two threads of one process, or two of its tasks, are two workers too."""
    inner, called = failing()

    def step(key: int) -> bool:
        if key == 1:
            # The other comes while this one has 1 to 4 of 16, a quarter, and takes the rest.
            assert do(inner, *range(1, 17)) == 6
        return True

    outer = Work("work", step, still_due=lambda keys: [key for key in keys if key not in called])
    assert do(outer, *range(1, 17)) == 4
    assert sorted(called) == list(range(5, 17))
    assert not WorkFailure.objects.exists()


def test_one_piece_is_tried_by_itself_unless_it_waits() -> None:
    assert attempt(failing()[0], 1, NOW) == 1
    assert attempt(failing(1)[0], 1, NOW) == 0
    assert attempt(failing()[0], 1, NOW) == 0
    assert attempt(failing()[0], 1, NOW + timedelta(minutes=1)) == 1


class Killed(BaseException):
    """What no step survives."""


def test_a_process_that_ends_counts_against_what_it_was_at(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may have been any of the batch: all are tried again at once, one by one, and only the bad one fails again."""

    def killed(key: int) -> bool:
        if key == 5:
            raise Killed
        return True

    work, machine = Work("work", killed), this_process().rsplit(" ", 2)[0]
    for day in range(5):
        now = NOW + timedelta(days=day)
        with monkeypatch.context() as patch:
            patch.setattr(services, "this_process", lambda: f"{machine} 1 never")
            with pytest.raises(Killed):
                do(work, *range(1, 21), now=now)
        # The first time the whole batch was claimed, a quarter of 20 and among them 5; after that 5 goes alone.
        assert note_ended_processes(work, now) == (5 if day == 0 else 1)
    assert do(work, *range(6, 21), now=now) == 15
    row = WorkFailure.objects.get()
    assert (row.key, row.tries, row.error, row.set_aside_at is not None) == (5, 5, services.ENDED, True)


def test_a_claim_of_another_host_holds_until_its_lease_is_over() -> None:
    WorkFailure.objects.create(kind="work", key=1, owner="elsewhere 17 99 0", claimed_until=NOW + services.LEASE)
    work = failing()[0]
    assert note_ended_processes(work, NOW) == 0
    assert (waits(), do(work, 1)) == ({1}, 0)
    later = NOW + services.LEASE + timedelta(seconds=1)
    assert do(work, 1, now=later) == 1
    assert not WorkFailure.objects.exists()


def test_a_database_that_is_away_is_no_failure_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the worker had is due at once when the database is back, whoever asks first."""

    def step(key: int) -> bool:
        raise OperationalError("gone")

    with monkeypatch.context() as patch:
        patch.setattr(services, "_is_database_there", lambda: False)
        with pytest.raises(OperationalError):
            do(Work("work", step), *range(1, 9))
    assert not failures().exists()
    assert do(failing()[0], *range(1, 9)) == 4
    assert not WorkFailure.objects.exists()


@pytest.mark.parametrize("code", [{"sqlstate": "53100"}, {"sqlite_errorcode": sqlite3.SQLITE_FULL}])
def test_a_full_disk_sets_no_work_aside_however_long_it_lasts(code: dict[str, object]) -> None:
    def step(key: int) -> bool:
        raise OperationalError("no space left on device") from said

    said = OSError()
    for name, value in code.items():
        setattr(said, name, value)
    for _ in range(2 * TRIES_MAX):
        with pytest.raises(OperationalError):
            do(Work("work", step), 1, 2, 3)
    assert not WorkFailure.objects.exists()
    assert do(Work("work", lambda key: 1), 1, 2, 3) == 3


def test_a_statement_that_the_database_refuses_is_one() -> None:
    def step(key: int) -> bool:
        raise OperationalError("canceling statement due to statement timeout")

    assert do(Work("work", step), 1) == 0
    assert WorkFailure.objects.get().error.startswith("OperationalError at ")


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_workers_that_walk_the_same_list_at_once_share_it() -> None:
    done: list[int] = []

    def step(key: int) -> bool:
        time.sleep(0.001)
        done.append(key)
        return True

    def left(keys: list[int]) -> list[int]:
        return [key for key in keys if key not in done]

    def walk(worker: int) -> int:
        try:
            return do(Work("work", step, still_due=left), *range(400))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        shares = list(pool.map(walk, range(4)))
    assert sorted(done) == list(range(400))
    assert sum(shares) == 400
    assert not WorkFailure.objects.exists()
