"""The page of my jobs."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from jobs.services import record_job
from tests.payloads import job_record


@pytest.mark.parametrize(
    ("name", "sees"), [("alice", True), ("carol", True), ("bob", False), ("dave", False), ("erin", False)]
)
def test_the_owner_and_the_pi_see_the_job_and_nobody_else(cast, reported, name: str, sees: bool) -> None:
    reported()
    content = cast(name).get("/jobs/").content.decode()
    assert ("123456" in content) == sees
    assert ("No jobs yet" in content) != sees


def test_anonymous_people_are_sent_to_sign_in(cast) -> None:
    assert Client().get("/jobs/")["Location"] == "/sign-in/?next=/jobs/"


def test_a_row_says_use_class_and_hours(cast, reported) -> None:
    reported()
    content = cast("alice").get("/jobs/").content.decode()
    for said in ("22.0 %", "Inefficient", "8.00", "project_465000001", "2 h 00 min", "2026-11-20 14:00"):
        assert said in content


def test_only_a_pi_is_shown_whose_job_it_is(cast, reported) -> None:
    reported()
    assert ">Owner</th>" in cast("carol").get("/jobs/").content.decode()
    assert ">Owner</th>" not in cast("alice").get("/jobs/").content.decode()


def test_jobs_can_be_filtered_by_class(cast, reported) -> None:
    reported()
    client = cast("alice")
    assert b"123456" in client.get("/jobs/?class=INEFFICIENT").content
    assert b"No job in this class" in client.get("/jobs/?class=EFFICIENT").content
    assert b"123456" in client.get("/jobs/?class=<b>").content


def test_the_pages_keep_the_filter_and_forgive_odd_numbers(cast, reported) -> None:
    reported(*range(1, 28))
    client = cast("alice")
    assert b"?class=INEFFICIENT&amp;page=2" in client.get("/jobs/?class=INEFFICIENT").content
    assert b"Page 2 of 2" in client.get("/jobs/?page=99").content
    assert b"Page 1 of 2" in client.get("/jobs/?page=x").content


def test_what_is_not_judged_yet_says_so(cast) -> None:
    record_job(job_record(job_id=1, state="RUNNING", ended_at=None))
    record_job(job_record(job_id=2, state="CANCELLED", started_at=None))
    content = cast("alice").get("/jobs/").content.decode()
    assert "being analysed" in content
    assert "never started" in content


def test_a_hostile_name_is_text(cast, reported) -> None:
    reported(job_name="<script>alert(1)</script>")
    content = cast("alice").get("/jobs/").content.decode()
    assert "&lt;script&gt;" in content
    assert "<script" not in content


def test_the_page_costs_the_same_queries_for_one_row_and_for_twenty_five(cast, reported) -> None:
    client, counts = cast("alice"), []
    for job_ids in (range(1, 2), range(2, 51)):
        reported(*job_ids)
        with CaptureQueriesContext(connection) as queries:
            assert client.get("/jobs/").status_code == 200
        counts.append(len(queries))
    assert counts[0] == counts[1]
