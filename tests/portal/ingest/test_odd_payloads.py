"""Times, numbers and characters that no job has: refused by name at the door, never an error of the portal."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import Job
from metrics.models import NodeSummary
from tests.metrics.stored import stored_gpus, stored_series
from tests.payloads import gpu, record, summary
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db

SUMMARIES, RECORDS = "/api/v1/ingest/node-summaries", "/api/v1/ingest/job-records"
NO_TIME = "is not a plausible time of a job"
TOO_LONG = "is longer after started_at than any job can run"


def post(path: str, *documents: Any) -> tuple[int, dict[str, Any]]:
    token = create_collector_token(path.rpartition("/")[2], "lumi")
    body = json.dumps(list(documents))
    answer = Client().post(path, body, "application/json", headers={"Authorization": f"Bearer {token}"})
    return answer.status_code, answer.json()


def refusals(counted: dict[str, Any]) -> list[tuple[str, str]]:
    return [(error["path"], error["message"]) for each in counted["rejected"] for error in each["errors"]]


@pytest.mark.parametrize(
    ("path", "odd", "name"),
    [
        (SUMMARIES, summary(started_at="1970-01-01T00:00:00Z"), "started_at"),
        (SUMMARIES, summary(started_at="0001-01-01T00:00:00+14:00"), "started_at"),
        (SUMMARIES, summary(ended_at="9999-12-31T23:59:59-14:00"), "ended_at"),
        (RECORDS, record(started_at="0001-01-01T00:00:00+14:00"), "started_at"),
        (RECORDS, record(ended_at="9999-12-31T23:59:59-14:00"), "ended_at"),
        (RECORDS, record(submitted_at="1969-12-31T23:59:59Z"), "submitted_at"),
    ],
)
def test_a_time_of_no_job_is_refused_and_the_record_beside_it_is_taken(path: str, odd: dict, name: str) -> None:
    good = summary(job_id=2) if path == SUMMARIES else record(job_id=2)
    status, counted = post(path, odd, good)
    assert (status, counted["accepted"], refusals(counted)) == (201, 1, [(name, NO_TIME)])


def test_a_summary_of_more_than_a_year_is_refused() -> None:
    status, counted = post(SUMMARIES, summary(ended_at="2028-01-01T00:00:00Z"))
    assert (status, refusals(counted)) == (422, [("ended_at", "is longer after started_at than any job can run")])


def test_an_odd_time_in_the_queue_says_nothing() -> None:
    assert post(RECORDS, record(eligible_at="0001-01-01T00:00:00+14:00"))[0] == 201


@pytest.mark.parametrize("step_s", [1e-300, 0.05])
def test_a_timeline_of_tiny_steps_is_left_out_by_name(step_s: float) -> None:
    one = gpu()
    one["timeline"]["step_s"] = step_s
    assert post(SUMMARIES, summary(gpus=[one]))[0] == 201
    (stored,), (series,) = stored_gpus(), stored_series()
    assert stored["missing"]["timeline"] == f"not possible: buckets of {step_s:.12g} s"
    assert series.util == (b"",)


@pytest.mark.parametrize(
    "odd",
    [
        {"\ud800": 1, "b": float("nan")},
        summary(errors=["\ud800"], extra=float("nan")),
        summary(schema="\ud800", extra=float("nan")),
        summary(node="n\ud800", extra=float("nan")),
    ],
)
def test_half_a_character_beside_nan_is_refused_like_anything_else(odd: dict) -> None:
    status, counted = post(SUMMARIES, odd, summary(job_id=2))
    assert (status, counted["accepted"], len(counted["rejected"])) == (201, 1, 1)


def test_a_fault_of_ours_on_one_record_refuses_that_record(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else its collector would send it again and again, and the batch with it."""
    monkeypatch.setattr("metrics.packed_node.pack_histogram", lambda seconds: {}["of alice"])
    status, counted = post(SUMMARIES, summary(gpus=[gpu(avg_util=None, missing={"avg_util": "none"})]))
    assert (status, refusals(counted)) == (422, [("", "cannot be stored: KeyError")])


def test_the_log_names_the_token_the_schema_and_the_path_and_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    post(RECORDS, record(user_id="alice secret"), record(job_id=-1), record(job_id=2))
    (line,) = [entry.getMessage() for entry in caplog.records if "rejected" in entry.getMessage()]
    assert line == "job-records (lumi): rejected 2 of 3 records of job-record/1: user_id (1), job_id (1)"


def in_days(days: float) -> str:
    return (timezone.now() + timedelta(days=days)).isoformat()


@pytest.mark.parametrize(
    ("path", "odd", "name"),
    [
        (SUMMARIES, lambda: summary(ended_at=in_days(1.1)), "ended_at"),
        (RECORDS, lambda: record(ended_at=in_days(5)), "ended_at"),
        (RECORDS, lambda: record(submitted_at=in_days(1.1)), "submitted_at"),
    ],
)
def test_a_time_that_has_not_been_yet_is_refused(path: str, odd: Any, name: str) -> None:
    status, counted = post(path, odd())
    assert (status, (name, "is in the future") in refusals(counted)) == (422, True)


def test_a_clock_that_keeps_local_time_as_utc_is_taken() -> None:
    assert post(SUMMARIES, summary(started_at=in_days(-0.1), ended_at=in_days(14 / 24)))[0] == 201


def test_a_run_of_ten_years_is_refused_by_either_door() -> None:
    for path, made in ((SUMMARIES, summary), (RECORDS, record)):
        status, counted = post(path, made(started_at="2016-11-20T10:00:00Z"))
        assert (status, refusals(counted)) == (
            422,
            [("ended_at", "is longer after started_at than any job can run")],
        )


@pytest.mark.parametrize("offset", ["+23:59", "-23:59", "+15:00"])
def test_an_instant_is_the_same_whatever_its_offset(offset: str) -> None:
    """PostgreSQL itself takes none of 16 hours and more."""
    said = f"2026-11-18T10:00:00{offset}"
    assert post(SUMMARIES, summary(started_at=said, ended_at=said))[0] == 201
    assert post(RECORDS, record(started_at=said, ended_at=said))[0] == 201
    instant = datetime.fromisoformat(said)
    assert NodeSummary.objects.get().started_at == Job.objects.get().ended_at == instant


def test_a_number_that_no_float_holds_is_named_by_its_path() -> None:
    token = create_collector_token("nodes", "lumi")
    body = json.dumps(summary(gpus=[gpu(0, avg_util=-1.5)])).replace("-1.5", "1e999")
    answer = Client().post(SUMMARIES, body, "application/json", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 422
    assert refusals(answer.json())[0] == ("gpus[0].avg_util", "inf is not a number of JSON")
