"""Addresses of a job's forms, opened by a link or after signing in again; and forms that were refused."""

from __future__ import annotations

import pytest
from django.test import Client

from analysis.models import Feedback
from jobs.models import JobNote, JobShare

pytestmark = pytest.mark.django_db

PAGE = "/jobs/lumi/123456/"
FORMS = ("note/", "share/", "share/end/", "feedback/")


@pytest.mark.parametrize("form", FORMS)
def test_a_get_leads_to_the_job_with_its_query(cast, reported, form: str) -> None:
    reported()
    alice = cast("alice")
    assert alice.get(f"{PAGE}{form}")["Location"] == PAGE
    answer = alice.get(f"{PAGE}{form}?attempt=0&nodes=2", follow=True)
    assert answer.redirect_chain == [(f"{PAGE}?attempt=0&nodes=2", 302)]
    assert "Nothing was saved." in answer.content.decode()
    assert alice.put(f"{PAGE}{form}").status_code == 405


@pytest.mark.parametrize("form", FORMS)
def test_a_stranger_gets_nothing_by_it(cast, reported, form: str) -> None:
    reported()
    assert cast("dave").get(f"{PAGE}{form}", follow=True).status_code == 404
    assert Client().get(f"{PAGE}{form}", follow=True).redirect_chain[-1][0].startswith("/sign-in/?next=")


@pytest.mark.parametrize("form", FORMS)
def test_who_was_signed_out_meanwhile_lands_on_the_job(cast, reported, form: str) -> None:
    reported()
    to_sign_in = Client().post(f"{PAGE}{form}", {"text": "lost"})["Location"]
    assert to_sign_in == f"/sign-in/?next={PAGE}{form}"
    assert cast("alice").get(to_sign_in.partition("next=")[2], follow=True).status_code == 200


def test_the_page_of_a_refused_note_leads_nowhere_else(cast, reported) -> None:
    reported(nodes=["nid000001", "nid000002"], node_count=2)
    page = cast("alice").post(f"{PAGE}note/", {"text": "x" * 2001, "tags": ""}).content.decode()
    assert f'action="{PAGE}#every-node"' in page
    assert 'href="?' not in page
    assert not JobNote.objects.exists()


def test_a_refused_question_to_support_comes_back_as_it_was_written(cast, reported) -> None:
    reported()
    page = cast("alice").post(f"{PAGE}share/", {"days": "5", "note": "why <so> slow?"}).content.decode()
    assert "why &lt;so&gt; slow?</textarea>" in page
    assert '<details class="folded" id="support" open>' in page
    assert "Not shared: choose a number of days" in page
    assert not JobShare.objects.exists()


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"code": "verdict", "answer": "right", "comment": "x" * 1001}, "a comment can have 1000 characters"),
        ({"code": "io_wait", "answer": "right", "comment": "keep <me>"}, "the report may have changed"),
    ],
)
def test_a_refused_comment_comes_back_as_it_was_written(cast, reported, sent: dict[str, str], said: str) -> None:
    reported()
    page = cast("alice").post(f"{PAGE}feedback/", sent).content.decode()
    assert said in page
    assert page.count(f"{sent['comment'].replace('<me>', '&lt;me&gt;')}</textarea>") == 1
    assert not Feedback.objects.exists()


def test_no_address_answers_a_person_with_an_empty_page(cast) -> None:
    answer = cast("alice").get("/sign-out/")
    assert (answer.status_code, answer["Allow"]) == (405, "POST")
    assert '<a href="/">To the start page</a>' in answer.content.decode()
