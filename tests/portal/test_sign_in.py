"""Signing in and out."""

from __future__ import annotations

import re

from django.test import Client

from jobs.services import record_job
from tests.payloads import job_record
from tests.portal.conftest import PASSWORD


def test_the_start_leads_to_sign_in_and_then_to_my_jobs(cast) -> None:
    client = Client()
    assert client.get("/", follow=True).redirect_chain[-1][0].startswith("/sign-in/?next=/jobs/")
    answer = client.post("/sign-in/", {"username": "alice", "password": PASSWORD, "next": "/jobs/?class=WASTED"})
    assert (answer.status_code, answer["Location"]) == (302, "/jobs/?class=WASTED")


def test_a_wrong_password_is_said_without_saying_which_half_was_wrong(cast) -> None:
    for name in ("alice", "nobody"):
        answer = Client().post("/sign-in/", {"username": name, "password": "wrong"})
        assert b"That name and password do not go together." in answer.content


def test_an_account_that_came_with_a_job_has_no_password(db) -> None:
    record_job(job_record(user_id="frank"))
    assert Client().post("/sign-in/", {"username": "frank", "password": ""}).status_code == 200
    assert not Client().login(username="frank", password="!")


def test_next_never_leads_elsewhere(cast) -> None:
    answer = Client().post("/sign-in/", {"username": "alice", "password": PASSWORD, "next": "https://evil.example/"})
    assert answer["Location"] == "/jobs/"


def test_signing_out_is_a_post_and_ends_the_session(cast) -> None:
    client = cast("alice")
    assert client.get("/sign-out/").status_code == 405
    assert client.post("/sign-out/")["Location"] == "/sign-in/"
    assert client.get("/jobs/").status_code == 302


def test_every_page_is_under_the_strict_policy_and_has_nothing_inline(cast, reported) -> None:
    reported(job_name="<script>alert(1)</script>")
    client = cast("alice")
    for answer in (Client().get("/sign-in/"), client.get("/jobs/"), client.get("/jobs/lumi/123456/"), client.get("/x")):
        policy = answer["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert answer["X-Frame-Options"] == "DENY"
        content = answer.content.decode()
        assert not re.search(r"<(script|style)\b|\sstyle=|\son[a-z]+=\"", content)
