"""Limits: who asks too often waits a little, nobody else does, and nothing depends on the counter."""

from __future__ import annotations

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import User
from jobs.tokens.services import issue_token
from tests.payloads import record
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

JOBS, LESSONS = "/api/v1/jobs/", "/api/v1/education/links/"


@pytest.fixture(autouse=True)
def early_in_a_minute(monkeypatch: pytest.MonkeyPatch) -> None:
    """13 seconds have passed of a minute that does not end."""
    monkeypatch.setattr("portal.rate_limits.time.time", lambda: 1_800_000_013.5)


def statuses(client: Client, path: str, times: int) -> list[int]:
    return [client.get(path).status_code for _ in range(times)]


def test_a_person_has_so_many_calls_a_minute_in_all_browsers_and_programs(cast, settings) -> None:
    settings.API_CALLS_PER_MINUTE = 3
    secret = issue_token(User.objects.get(username="alice"), name="n", days=30, now=timezone.now())
    program = Client(headers={"Authorization": f"Bearer {secret}"})
    assert [cast("alice").get(JOBS).status_code, *statuses(program, JOBS, 2)] == [200] * 3
    answer = program.get(JOBS)
    assert (answer.status_code, answer["Retry-After"]) == (429, "47")
    assert answer["Content-Type"] == "application/problem+json"
    assert answer.json()["title"] == "Too Many Requests"
    assert cast("bob").get(JOBS).status_code == 200
    assert cast("alice").get("/jobs/").status_code == 200


def test_the_next_minute_begins_anew(cast, settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.API_CALLS_PER_MINUTE = 1
    client = cast("alice")
    assert statuses(client, JOBS, 2) == [200, 429]
    monkeypatch.setattr("portal.rate_limits.time.time", lambda: 1_800_000_060.0)
    assert statuses(client, JOBS, 2) == [200, 429]


def test_without_a_person_the_address_counts(settings) -> None:
    settings.ANONYMOUS_API_CALLS_PER_MINUTE = 2
    assert statuses(Client(), LESSONS, 3) == [200, 200, 429]
    assert Client(REMOTE_ADDR="192.0.2.7").get(LESSONS).status_code == 200


def test_files_with_figures_and_tables_of_jobs_are_downloads(cast, reported, settings) -> None:
    reported()
    settings.DOWNLOADS_PER_MINUTE = 2
    client = cast("alice")
    report = "/api/v1/jobs/lumi/123456/report"
    assert [client.get(f"{report}.{name}").status_code for name in ("html", "pdf", "html", "json", "md")] == [
        *(200, 200, 429, 200, 200)
    ]
    answer = client.get("/jobs.csv")
    assert (answer.status_code, answer["Retry-After"]) == (429, "47")
    page = " ".join(answer.content.decode().split())
    assert "Please try again in 47 seconds." in page
    assert cast("carol").get("/jobs.csv").status_code == 200


def test_collectors_are_never_limited(settings) -> None:
    settings.API_CALLS_PER_MINUTE = settings.ANONYMOUS_API_CALLS_PER_MINUTE = 1
    sender = Client(headers={"Authorization": f"Bearer {create_collector_token('nodes', 'lumi')}"})
    address = "/api/v1/ingest/job-records"
    assert {sender.post(address, record(), content_type="application/json").status_code for _ in range(5)} == {200, 201}


def test_a_counter_that_is_away_stops_nobody(cast, settings) -> None:
    settings.CACHES = {
        "default": {"BACKEND": "django.core.cache.backends.redis.RedisCache", "LOCATION": "redis://127.0.0.1:1/0"}
    }
    settings.API_CALLS_PER_MINUTE = settings.DOWNLOADS_PER_MINUTE = 1
    client = cast("alice")
    assert statuses(client, JOBS, 3) + statuses(client, "/jobs.csv", 3) == [200] * 6


@pytest.mark.xdist_group("redis")
def test_calls_are_counted_in_a_real_redis_for_all_processes_and_forgotten(cast, settings, shared_cache) -> None:
    settings.API_CALLS_PER_MINUTE = 2
    assert statuses(cast("alice"), JOBS, 3) == [200, 200, 429]
    assert {0 < shared_cache.ttl(key) <= 120 for key in shared_cache.scan_iter()} == {True}


def test_what_fills_the_audit_log_is_limited_and_taking_back_is_not(cast, reported, settings) -> None:
    settings.CHANGES_PER_MINUTE = 2
    reported(1)
    alice = cast("alice")
    share = [alice.post("/jobs/lumi/1/share/", {"days": 7}).status_code for _ in range(3)]
    assert share == [302, 302, 429]
    assert alice.post("/settings/tokens/", {"name": "x", "days": 30, "kind": "read"}).status_code == 429
    assert alice.post("/jobs/lumi/1/share/end/").status_code == 302
    assert alice.get("/settings/tokens/").status_code == 200
