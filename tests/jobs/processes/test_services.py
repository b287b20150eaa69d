"""Processes say that they are there, seldom and without harm."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import OperationalError
from django.utils import timezone

from jobs.models import Process
from jobs.processes import services
from jobs.processes.selectors import last_seen_at, processes_there
from jobs.processes.services import SEEN_EVERY_S, last_seen, seen

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def nobody_seen() -> Iterator[None]:
    last_seen.clear()
    yield
    last_seen.clear()


def test_a_process_writes_at_most_every_ten_seconds(monkeypatch, django_assert_num_queries) -> None:
    clock_s = [100.0]
    monkeypatch.setattr(services.time, "monotonic", lambda: clock_s[0])
    seen("worker", 3)
    with django_assert_num_queries(0):
        clock_s[0] += SEEN_EVERY_S - 0.1
        seen("worker", 4)
    clock_s[0] += 0.1
    seen("worker", 5)
    (row,) = Process.objects.all()
    assert (row.kind, row.waiting_records) == ("worker", 5)


def test_a_process_may_be_of_several_kinds() -> None:
    seen("worker")
    seen("portal", 0)
    assert [row.kind for row in processes_there(timezone.now())] == ["portal", "worker"]


def test_who_was_not_heard_for_a_minute_is_not_there_and_after_a_day_is_forgotten() -> None:
    now = timezone.now()
    for name, seconds in (("here", 59), ("silent", 61), ("long ago", 86_500)):
        at = now - timedelta(seconds=seconds)
        Process.objects.create(name=name, kind="ingest", version="1", seen_at=at)
    assert [row.name for row in processes_there(now)] == ["here"]
    assert last_seen_at("ingest") == now - timedelta(seconds=59)
    assert last_seen_at("worker") is None
    seen("worker")
    assert not Process.objects.filter(name="long ago").exists()
    assert Process.objects.filter(name="silent").exists()


def test_a_database_that_takes_nothing_is_no_reason_to_stop(monkeypatch: pytest.MonkeyPatch) -> None:
    def unwritable(*_: object, **__: object) -> None:
        raise OperationalError("read-only")

    monkeypatch.setattr(Process.objects, "update_or_create", unwritable)
    seen("worker")
    assert not Process.objects.exists()
