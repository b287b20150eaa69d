"""Calls that are wrong in very many ways cost little: how much is looked at and answered is bounded."""

from __future__ import annotations

import gzip
import json
from datetime import UTC, datetime

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.models import Job
from metrics.models import NodeSummary
from portal.ingest.body import records
from portal.ingest.explain import PROBLEMS_MAX
from portal.ingest.services import EXPLAINED_MAX, KINDS, Checked, check
from tests.payloads import record, summary
from tests.tokens import create_collector_token

SUMMARIES = "/api/v1/ingest/node-summaries"
WRONG = {"schema": "node-summary/1", "gpus": [{}] * 60}
"""Sixty GPUs without a number, and no cluster, job and node."""


def checked(documents: list[object]) -> Checked:
    return check(records(json.dumps(documents).encode()), KINDS, datetime(2026, 11, 21, tzinfo=UTC))


def test_of_the_first_refused_records_every_field_is_named_and_of_the_others_one() -> None:
    found = [len(problems) for _, problems in checked([WRONG] * 1000).rejected]
    assert found == [PROBLEMS_MAX] * EXPLAINED_MAX + [1] * (1000 - EXPLAINED_MAX)


@pytest.mark.parametrize(
    ("record", "path", "message"),
    [
        (WRONG, "gpus[0]", "Object missing required field `gpu_id`"),
        ({}, "", "Object missing required field `schema`"),
        ({"schema": 1}, "schema", "Expected `str`, got `int`"),
        ({"schema": "x"}, "schema", "unknown schema; accepted here: node-summary/1, raw-samples/1, job-record/1"),
        (summary([90.0], node="n d"), "node", "Expected `str` matching regex"),
        (summary(gpus=[{"gpu_id": 0}] * 64), "gpus[0].avg_util", "required, or a reason for it in missing"),
    ],
)
def test_the_one_that_is_named_says_what_and_where(record: dict, path: str, message: str) -> None:
    place, problems = checked([{}] * EXPLAINED_MAX + [record]).rejected[-1]
    assert (place, [where for where, _ in problems]) == (EXPLAINED_MAX, [path])
    assert problems[0][1].startswith(message)


def test_sound_records_behind_many_refused_ones_are_taken() -> None:
    found = checked([WRONG] * 500 + [summary([90.0])])
    assert [item.place for item in found.sound] == [500]


def test_of_numbers_that_are_none_no_more_are_listed() -> None:
    text = b'{"schema": "node-summary/1", "x": [' + b"NaN, " * 10_000 + b"1]}"
    found = check(records(text), KINDS, datetime(2026, 11, 21, tzinfo=UTC))
    assert [len(problems) for _, problems in found.rejected] == [PROBLEMS_MAX]


@pytest.mark.django_db
@pytest.mark.parametrize("head", ["[", "[NaN,", '["\\ud800",'], ids=["plain", "with NaN", "with half a character"])
def test_more_records_than_a_call_may_hold_are_not_looked_at(head: str) -> None:
    client = Client(headers={"authorization": f"Bearer {create_collector_token('nodes', 'lumi')}"})
    body = gzip.compress(f"{head}{'{},' * 150_000}{{}}]".encode())
    answer = client.post(SUMMARIES, body, content_type="application/json", headers={"content-encoding": "gzip"})
    assert (answer.status_code, len(answer.content) < 300) == (413, True)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("path", "document"), [(SUMMARIES, summary([90.0])), (f"{SUMMARIES[:-14]}job-records", record())], ids=["s", "r"]
)
def test_the_same_record_many_times_in_a_call_costs_as_many_statements_as_once(path: str, document: dict) -> None:
    client = Client(headers={"authorization": f"Bearer {create_collector_token('nodes', 'lumi')}"})
    found = []
    for count in (2, 300):
        NodeSummary.objects.all().delete()
        Job.objects.all().delete()
        with CaptureQueriesContext(connection) as queries:
            answer = client.post(path, json.dumps([document] * count), content_type="application/json")
        assert (answer.status_code, answer.json()) == (201, {"accepted": 1, "duplicate": count - 1, "rejected": []})
        found.append(len(queries))
    assert found[0] >= found[1]
