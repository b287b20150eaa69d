"""Times beyond Python's calendar, as a restored table may hold them, stop neither a sweep nor a list."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client

from analysis.models import JobEfficiency
from jobs.models import Job, User
from portal.database.far_times import EARLIEST, LATEST
from reports.services.publishing import follow_up
from tests.analysis.poison import run
from tests.conftest import NOW

pytestmark = [pytest.mark.django_db, pytest.mark.postgresql]


def far(job_id: int, column: str, text: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE jobs_job SET {column} = %s::timestamptz WHERE job_id = %s", [text, job_id])


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("200000-01-01 00:00Z", LATEST),
        ("infinity", LATEST),
        ("-infinity", EARLIEST),
        ("4000-01-01 00:00Z BC", EARLIEST),
        ("9999-06-01 00:00Z", datetime(9999, 6, 1, tzinfo=UTC)),
    ],
)
@pytest.mark.parametrize("column", ["ended_at", "started_at", "changed_at"])
def test_a_sweep_goes_on_past_such_a_row(column: str, text: str, read: datetime) -> None:
    for job_id in (1, 2, 3):
        run(job_id)
    far(2, column, text)
    assert getattr(Job.objects.get(job_id=2), column) == read
    follow_up(10, NOW)
    assert {1, 3} <= set(JobEfficiency.objects.values_list("job__job_id", flat=True))


def test_the_list_of_jobs_shows_the_others() -> None:
    for job_id in (1, 2):
        run(job_id)
    far(2, "ended_at", "infinity")
    follow_up(10, NOW)
    client = Client()
    client.force_login(User.objects.get(username="alice"))
    page = client.get("/jobs/")
    assert page.status_code == 200
    assert "/jobs/lumi/1/" in page.content.decode()


@pytest.mark.parametrize(
    ("text", "read"),
    [
        ("2026-11-20 12:30:00Z", datetime(2026, 11, 20, 12, 30, tzinfo=UTC)),
        ("2026-11-20 14:30:00.1+02", datetime(2026, 11, 20, 12, 30, 0, 100_000, tzinfo=UTC)),
        ("2026-11-20 12:30:00.000007Z", datetime(2026, 11, 20, 12, 30, 0, 7, tzinfo=UTC)),
        ("0001-01-01 00:00:00Z", datetime(1, 1, 1, tzinfo=UTC)),
        ("1890-01-01 00:00:00Z", datetime(1890, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_time_is_read_to_the_microsecond(text: str, read: datetime) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT %s::timestamptz", [text])
        assert cursor.fetchone() == (read,)
