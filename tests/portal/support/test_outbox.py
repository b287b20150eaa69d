"""The staff's page of the outbox."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import User
from reports.mail.digest import Silence
from reports.models import Delivery, Report

STATES = ("pending", "sending", "sent", "failed", "suppressed")


@pytest.fixture
def rows(cast):
    """Rows of the outbox, one of each state in turn."""

    def make(count: int, reason: str = "") -> None:
        now, alice = timezone.now(), User.objects.get(username="alice")
        Delivery.objects.bulk_create(
            Delivery(
                user=alice,
                state=STATES[index % len(STATES)],
                reason=reason,
                frequency="daily",
                created_at=now - timedelta(minutes=index),
                due_at=now,
            )
            for index in range(count)
        )

    return make


@pytest.mark.parametrize("name", ["alice", "bob", "carol", "dave"])
def test_people_who_are_not_staff_find_no_such_page(cast, name: str) -> None:
    client = cast(name)
    assert client.get("/support/outbox/").status_code == 404
    assert b"/support/outbox/" not in client.get("/jobs/").content


def test_anonymous_people_are_sent_to_sign_in(cast) -> None:
    assert Client().get("/support/outbox/")["Location"] == "/sign-in/?next=/support/outbox/"


def test_staff_see_every_state_and_the_reason_in_words(cast, rows) -> None:
    rows(5, reason="no_address")
    content = cast("erin").get("/support/outbox/").content.decode()
    for said in (
        "Pending",
        "Sending",
        "Sent",
        "Failed",
        "Suppressed",
        "no address known; sent as soon as there is one",
    ):
        assert said in content
    assert "alice" in content


def test_staff_see_nothing_of_the_jobs_but_their_number(cast, rows, reported) -> None:
    reported(123456, job_name="secret-project-name")
    rows(1)
    Report.objects.update(delivery=Delivery.objects.get())
    content = cast("erin").get("/support/outbox/").content.decode()
    assert '<td data-label="Jobs" class="number">1</td>' in content
    for hidden in ("123456", "secret-project-name", "22.0"):
        assert hidden not in content


def test_no_reason_tells_what_the_jobs_were_like(cast, rows) -> None:
    said = set()
    for reason in set(Silence) - {Silence.OFF}:
        Delivery.objects.all().delete()
        rows(1, reason=reason.value)
        content = cast("erin").get("/support/outbox/").content.decode()
        assert reason.value not in content
        said.add(content.partition('class="reason">')[2].partition("<")[0])
    assert said == {"not mailed under the rules and the reader&#x27;s settings"}


def test_the_page_filters_by_state_and_forgives_odd_ones(cast, rows) -> None:
    rows(10)
    client = cast("erin")
    assert b"2 messages in state failed" in b" ".join(client.get("/support/outbox/?state=failed").content.split())
    assert b"10 messages, the latest first" in b" ".join(
        client.get("/support/outbox/?state=<b>&page=x").content.split()
    )
    Delivery.objects.filter(state="sent").delete()
    assert b"No message is in this state" in client.get("/support/outbox/?state=sent").content


def test_what_a_mail_server_said_is_text(cast, rows) -> None:
    rows(1, reason="550 <script>alert(1)</script>")
    content = cast("erin").get("/support/outbox/").content.decode()
    assert "&lt;script&gt;" in content
    assert "<script>" not in content


def test_the_page_is_paged_and_costs_the_same_queries_for_one_row_and_for_fifty(cast, rows) -> None:
    client, counts = cast("erin"), []
    for count in (1, 60):
        rows(count)
        with CaptureQueriesContext(connection) as queries:
            content = client.get("/support/outbox/").content
        counts.append(len(queries))
    assert b"Page 1 of 2" in content
    assert counts[0] == counts[1]


def test_it_is_read_only(cast) -> None:
    assert cast("erin").post("/support/outbox/").status_code == 405
