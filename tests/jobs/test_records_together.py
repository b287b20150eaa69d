"""Job records that come together leave what the same records leave one after the other, in a few statements."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DataError, connection, transaction
from django.test.utils import CaptureQueriesContext

from jobs import services
from jobs.models import Job, Membership, Project, User
from jobs.records import JobRecord
from jobs.services import record_job, record_jobs
from portal.ingest.services import KINDS, Item, store
from tests.payloads import job_record

pytestmark = pytest.mark.django_db

DAY = datetime(2026, 11, 1, tzinfo=UTC)
LATER = datetime(2026, 11, 20, tzinfo=UTC)
KIND = KINDS["job-record/1"]


def ended(job_id: int, hours: int, **changes: Any) -> JobRecord:
    """alice's training run that ended so many hours into the month after an hour."""
    ended_at = DAY + timedelta(hours=hours)
    return job_record(job_id=job_id, started_at=ended_at - timedelta(hours=1), ended_at=ended_at, **changes)


BATCH = [
    ended(1, 1),
    ended(2, 2, job_name="evaluate"),
    ended(3, 3, user_id="bob", project_id="project_465000002"),
    ended(4, 4, state="RUNNING"),
    # An earlier end than the one before it: the run of job 5 is compared with it.
    ended(6, 6),
    ended(5, 5),
    # Told twice: what the first knew alone stays.
    ended(7, 7, qos="debug"),
    ended(7, 7, partition=""),
    ended(7, 8, attempt=1),
    # Stored before: the same, more of it, and another's.
    ended(20, 20),
    ended(21, 21, qos="debug"),
    ended(22, 22, user_id="mallory"),
    ended(2, 2, job_name="evaluate", project_id="project_465000009"),
]
STORED = [ended(20, 20), ended(21, 21), ended(22, 22)]


def stored_rows() -> list[dict[str, Any]]:
    named = Job.objects.order_by("job_id", "attempt")
    left_out = {"id", "user_id", "project_id", "changed_at", "revision"}
    return [
        {"user": job.user.username, "project": job.project.name}
        | {field.attname: getattr(job, field.attname) for field in Job._meta.fields if field.attname not in left_out}
        for job in named.select_related("user", "project")
    ]


def people() -> tuple[list[Any], list[Any], list[Any]]:
    members = Membership.objects.values_list("user__username", "project__name", "role").order_by("user__username")
    names = User.objects.values_list("username", flat=True), Project.objects.values_list("name", flat=True)
    return sorted(names[0]), sorted(names[1]), sorted(members)


def outcome(result: object) -> object:
    return result if isinstance(result, bool) else type(result).__name__


def test_together_and_one_by_one_leave_the_same() -> None:
    left: list[Any] = []
    for is_together in (True, False):
        for record in STORED:
            record_job(record)
        items = [Item(place, KIND, record) for place, record in enumerate(BATCH)]
        if is_together:
            results = store(items)
        else:
            results = [store([item])[0] for item in sorted(items, key=lambda item: item.record.key)]
            order = sorted(range(len(BATCH)), key=lambda place: BATCH[place].key)
            results = [results[order.index(place)] for place in range(len(BATCH))]
        left.append(([*map(outcome, results)], stored_rows(), people()))
        for model in (Job, Membership, User, Project):
            model.objects.all().delete()
    together, one_by_one = left
    assert together[0] == one_by_one[0] == [True] * 7 + [False, True, False, True, "Refused", "Refused"]
    assert together[1] == one_by_one[1]
    assert together[2] == one_by_one[2]


def test_an_earlier_run_that_comes_late_touches_what_was_compared_without_it() -> None:
    for record in (ended(5, 5), ended(9, 9), ended(8, 8, job_name="evaluate")):
        record_job(record)
    Job.objects.update(changed_at=DAY)
    assert record_jobs([ended(3, 3), ended(4, 4), ended(10, 10)], LATER) == [True] * 3
    revisions = dict(Job.objects.values_list("job_id", "revision"))
    assert revisions == {3: 1, 4: 1, 5: 3, 8: 1, 9: 3, 10: 1}
    assert set(Job.objects.filter(changed_at=LATER).values_list("job_id", flat=True)) == {3, 4, 5, 9, 10}


def test_hundred_new_ones_take_few_statements_and_hundred_known_ones_fewer() -> None:
    records = [ended(job_id, job_id, user_id=f"user{job_id % 7}") for job_id in range(1, 101)]
    with CaptureQueriesContext(
        connection,
    ) as asked:
        assert record_jobs(records) == [True] * 100
    assert len(asked) <= 20
    with CaptureQueriesContext(connection) as asked:
        assert record_jobs(records) == [False] * 100
    assert len(asked) <= 8


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_the_same_runs_at_once_are_each_stored_once() -> None:
    items = [Item(place, KIND, ended(place + 1, place + 1)) for place in range(60)]

    def send(first: int) -> int:
        try:
            return sum(result is True for result in store(items[first:] + items[:first]))
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as pool:
        told = list(pool.map(send, range(0, 60, 10)))
    assert sum(told) == Job.objects.count() == 60


def test_a_run_that_another_writer_makes_meanwhile_is_told_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    def too_late(records: list[JobRecord]) -> list[bool]:
        return [True] * len(records)

    record_job(ended(1, 1))
    monkeypatch.setattr(services, "known_or_new", too_late)
    with transaction.atomic():
        assert record_jobs([ended(1, 1), ended(2, 2)]) == [None, None]
    assert list(Job.objects.values_list("job_id", flat=True)) == [1]


def test_what_the_database_refuses_together_is_stored_one_by_one_and_not_quoted(caplog) -> None:
    def refused(records: list[JobRecord]) -> list[bool]:
        raise DataError('value too long: "alice secret"')

    kind = replace(KIND, record_all=refused)
    assert store([Item(place, kind, ended(place + 1, place + 1)) for place in range(3)]) == [True] * 3
    assert Job.objects.count() == 3
    assert "records of JobRecord could not be stored together: DataError" in caplog.messages
    assert "secret" not in caplog.text
