"""Liveness and readiness, open to a probe that knows nobody."""

from __future__ import annotations

import pytest
from django.db import OperationalError, connection
from django.test import Client

from metrics.services import record_node_summary
from tests.payloads import node_payload


def test_a_living_process_says_so() -> None:
    assert Client().get("/healthz").json() == {"status": "ok"}


@pytest.mark.django_db
def test_a_process_with_its_database_is_ready() -> None:
    assert Client().get("/readyz").status_code == 200


@pytest.mark.django_db
def test_a_process_without_its_database_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OperationalError("connection refused at 10.0.0.1")

    monkeypatch.setattr(connection, "cursor", unreachable)
    answer = Client().get("/readyz")
    assert (answer.status_code, answer.json()) == (503, {"status": "database unreachable"})


@pytest.mark.django_db
def test_what_the_collectors_could_not_do_is_counted_by_reason() -> None:
    record_node_summary(node_payload(job_id=1))
    for job_id, stood_still_s in ((2, 31), (3, 4.5)):
        said = [f"sampling stood still for {stood_still_s} s", 'a "quoted\nreason']
        record_node_summary(node_payload(job_id=job_id, errors=said))
    lines = Client().get("/metrics").content.decode().splitlines()
    assert 'kaiku_node_summaries_day{cluster="lumi"} 3.0' in lines
    stood_still = 'kaiku_collector_failures_day{cluster="lumi",reason="sampling stood still for N s"} 2.0'
    assert stood_still in lines
    assert [line for line in lines if "quoted" in line and line.endswith(" 2.0")]
    assert "kaiku_reports_day 0.0" in lines
    assert 'kaiku_trouble{trouble="database busy"} 0.0' in lines


@pytest.mark.django_db
def test_numbers_that_cannot_be_read_are_left_out_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(*_: object) -> None:
        raise OperationalError("connection refused at 10.0.0.1")

    monkeypatch.setattr(connection, "cursor", unreachable)
    answer = Client().get("/metrics")
    lines = answer.content.decode().splitlines()
    assert (answer.status_code, "10.0.0.1" in answer.content.decode()) == (200, False)
    assert 'kaiku_trouble{trouble="database unreachable"} 1.0' in lines
    assert [line for line in lines if line.startswith("kaiku_reports_day")] == []


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("came", "token", "status"),
    [
        ({"REMOTE_ADDR": "10.1.2.3"}, "", 404),
        ({"REMOTE_ADDR": "10.1.2.3"}, "secret", 200),
        ({"REMOTE_ADDR": "10.1.2.3"}, "wrong", 404),
        ({"REMOTE_ADDR": "127.0.0.1", "HTTP_X_FORWARDED_FOR": "10.1.2.3"}, "", 404),
        ({"REMOTE_ADDR": "::1"}, "", 200),
    ],
)
def test_numbers_are_for_this_machine_or_for_a_token(settings, came: dict, token: str, status: int) -> None:
    settings.METRICS_TOKEN = "secret"
    assert Client().get("/metrics", HTTP_AUTHORIZATION=f"Bearer {token}", **came).status_code == status


def test_without_a_token_set_none_opens_the_door(settings) -> None:
    settings.METRICS_TOKEN = ""
    assert Client().get("/metrics", HTTP_AUTHORIZATION="Bearer ", REMOTE_ADDR="10.1.2.3").status_code == 404
