"""Exports over HTTP: one's own runs in every format; a stranger finds nothing, a PI only single runs of the project."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from io import BytesIO, StringIO

import pyarrow.parquet as pq
import pytest
from django.test import Client
from jsonschema import Draft202012Validator

from jobs.models import JobOpening
from jobs.services import record_job
from reports.performance.rows import COLUMNS
from tests.payloads import job_record

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

JOB, ALL = "/api/v1/jobs/lumi/123456/performance", "/api/v1/performance"
DAY = {"started_at": "2026-11-21T10:00:00Z", "ended_at": "2026-11-21T12:00:00Z"}


def body(client: Client, path: str) -> bytes:
    answer = client.get(path)
    assert answer.status_code == 200, path
    return b"".join(answer.streaming_content)


def numbers(client: Client, query: str = "") -> list[int]:
    """The runs of a bulk export, in its order."""
    return [json.loads(line)["job_id"] for line in body(client, f"{ALL}.jsonl{query}").splitlines()]


@pytest.mark.parametrize(
    ("ending", "content_type"),
    [
        ("json", "application/json"),
        ("jsonl", "application/jsonl"),
        ("csv", "text/csv; charset=utf-8"),
        ("parquet", "application/vnd.apache.parquet"),
        ("txt", "text/plain; charset=utf-8"),
    ],
)
def test_each_format_is_a_download_of_its_type(cast, reported: Callable[..., None], ending: str, content_type: str):
    reported()
    for path, name in ((JOB, "kaiku-lumi-123456-performance"), (ALL, "kaiku-performance")):
        answer = cast("alice").get(f"{path}.{ending}")
        assert (answer.status_code, answer["Content-Type"]) == (200, content_type)
        assert answer["Content-Disposition"] == f'attachment; filename="{name}.{ending}"'
        assert b"".join(answer.streaming_content)


def test_one_run_is_one_document_one_row_or_one_comment(cast, reported: Callable[..., None]) -> None:
    reported()
    alice = cast("alice")
    document = json.loads(body(alice, f"{JOB}.json"))
    assert (document["schema"], document["job_metadata"]["job_id"]) == ("kaiku-learning/1", "123456")
    assert json.loads(body(alice, f"{JOB}.jsonl"))["avg_gpu_util_percent"] == pytest.approx(22.0)
    (row,) = csv.DictReader(StringIO(body(alice, f"{JOB}.csv").decode()))
    assert (row["job_id"], row["efficiency_class"]) == ("123456", "INEFFICIENT")
    assert pq.read_table(BytesIO(body(alice, f"{JOB}.parquet")))["gpu_hours"].to_pylist() == [8.0]
    assert body(alice, f"{JOB}.txt") == b"kaiku:class=inefficient;util=22;v=1\n"


def test_all_runs_are_an_array_of_documents_or_a_line_each(cast, reported: Callable[..., None]) -> None:
    reported(1, 2)
    alice = cast("alice")
    assert [each["job_metadata"]["job_id"] for each in json.loads(body(alice, f"{ALL}.json"))] == ["1", "2"]
    assert body(alice, f"{ALL}.txt").decode().splitlines() == [
        "lumi/1 kaiku:class=inefficient;util=22;v=1",
        "lumi/2 kaiku:class=inefficient;util=22;v=1",
    ]
    assert json.loads(body(cast("bob"), f"{ALL}.json")) == []


def test_the_bounds_are_of_the_end_of_a_run_and_exclude_the_later_one(cast, reported: Callable[..., None]) -> None:
    reported(2, **DAY)
    reported(1)
    record_job(job_record(job_id=3, state="RUNNING", ended_at=None))
    alice = cast("alice")
    # The first ended at noon on the 20th, the other one a day later; the third still runs.
    assert numbers(alice) == [1, 2]
    assert numbers(alice, "?since=2026-11-21") == [2]
    assert numbers(alice, "?until=2026-11-21") == [1]
    assert numbers(alice, "?since=2026-11-20T12:00:00Z&until=2026-11-21T12:00:00Z") == [1]
    assert numbers(alice, "?since=2026-11-20T14:00:01%2B02:00") == [2]


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("since=yesterday", "since must be a day such as 2026-11-01"),
        ("until=2026-02-31", "until must be a day"),
        ("since=2026-11-01T12:00:00", "since must be a day"),
        ("since=", "since must be a day"),
        ("since=2026-11-02&until=2026-11-02", "since must be before until"),
    ],
)
def test_bounds_that_make_no_sense_are_refused(cast, query: str, said: str) -> None:
    answer = cast("alice").get(f"{ALL}.csv?{query}")
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


def test_nobody_else_gets_a_run_but_the_pi_who_is_shown_to_the_owner(cast, reported: Callable[..., None]) -> None:
    reported()
    for name in ("bob", "dave", "frank"):
        assert cast(name).get(f"{JOB}.json").status_code == 404
        assert numbers(cast(name)) == []
    assert cast("carol").get(f"{JOB}.csv").status_code == 200
    assert JobOpening.objects.get().user.username == "carol"
    assert numbers(cast("carol")) == []
    assert Client().get(f"{ALL}.csv").status_code in (401, 403)


def test_a_run_that_has_not_ended_and_an_unknown_format_are_not_found(cast) -> None:
    record_job(job_record(state="RUNNING", ended_at=None, walltime_used_s=None))
    alice = cast("alice")
    answer = alice.get(f"{JOB}.csv")
    assert (answer.status_code, answer.json()["detail"]) == (404, "This job has not ended yet.")
    assert alice.get(f"{JOB}.xlsx").status_code == 404
    assert alice.get(f"{ALL}.pdf").status_code == 404


def test_exports_count_as_downloads(cast, reported: Callable[..., None], settings, monkeypatch) -> None:
    reported()
    monkeypatch.setattr("portal.rate_limits.time.time", lambda: 1_800_000_013.5)
    settings.DOWNLOADS_PER_MINUTE = 2
    statuses = [cast("alice").get(path).status_code for path in (f"{JOB}.csv", f"{ALL}.parquet", f"{ALL}.txt")]
    assert statuses == [200, 200, 429]


def test_the_schema_and_the_dictionary_are_open_to_everyone(cast, reported: Callable[..., None]) -> None:
    reported()
    schema = Client().get("/api/schema/kaiku-learning-1.json").json()
    Draft202012Validator(schema).validate(json.loads(body(cast("alice"), f"{JOB}.json")))
    described = Client().get("/api/schema/kaiku-performance-1.json").json()
    assert [column["name"] for column in described["columns"]] == [column.name for column in COLUMNS]
