"""When the database goes away: nothing is acknowledged that is not stored, and the sender is told to come back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from django.db import OperationalError, connection
from django.test import Client

from jobs.services import record_job
from metrics.models import NodeSummary
from reports.models import Report
from tests.payloads import job_record, summary
from tests.steps import ran
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db


@contextmanager
def broken_database(statement: str = "", after: int = 0) -> Iterator[None]:
    """Every statement that holds `statement` fails as if the server were gone, once `after` of them went well."""
    left = [after]

    def refuse(execute, sql, params, many, context):
        if statement in sql:
            left[0] -= 1
            if left[0] < 0:
                raise OperationalError("server closed the connection unexpectedly")
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse):
        yield


@pytest.fixture
def post():
    secret = create_collector_token("nodes", "lumi")

    def send(document: object):
        return Client().post(
            "/api/v1/ingest/node-summaries",
            json.dumps(document),
            content_type="application/json",
            headers={"Authorization": f"Bearer {secret}"},
        )

    return send


def test_a_sender_is_told_to_come_back(post) -> None:
    with broken_database():
        answer = post(summary())
    assert (answer.status_code, answer["Retry-After"]) == (503, "30")
    assert answer["Content-Type"] == "application/problem+json"
    assert "server closed" not in answer.content.decode()
    assert post(summary()).status_code == 201


def test_a_batch_that_was_not_acknowledged_is_whole_after_it_was_sent_again(post) -> None:
    batch = [summary(node="nid005123"), summary(node="nid005124")]
    with broken_database("INSERT INTO metrics_nodesummary"):
        assert post(batch).status_code == 503
    assert not NodeSummary.objects.exists()
    assert post(batch).json() == {"accepted": 2, "duplicate": 0, "rejected": []}


@pytest.mark.django_db(transaction=True)
def test_a_worker_outlives_its_database() -> None:
    record_job(job_record())
    with broken_database("analysis_jobefficiency"):
        assert not ran("judge")
    assert ran("judge") == 1
    assert Report.objects.count() == 1


def test_a_client_may_accept_whatever_it_likes(post, client: Client) -> None:
    answer = client.get("/api/v1/jobs/", headers={"Accept": "application/pdf"})
    assert answer.status_code == 401
