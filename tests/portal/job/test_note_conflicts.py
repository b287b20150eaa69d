"""A note that was typed is never lost: not to another tab, and not to a session that ended."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from jobs.models import JobNote, JobShare, User
from jobs.services import record_job
from tests.payloads import job_record
from tests.portal.conftest import PASSWORD

PAGE = "/jobs/lumi/123456/"
NOTE = f"{PAGE}note/"


@pytest.fixture
def alice(cast):
    record_job(job_record())
    return cast("alice")


def version(page: str) -> str:
    (found,) = re.findall(r'name="version"(?: value="([^"]*)")?', page)
    return found


def opened(client) -> str:
    """The version that a tab which opens the page now sends later."""
    return version(client.get(PAGE).content.decode())


def test_the_second_of_two_tabs_keeps_what_was_typed_and_shows_what_the_first_saved(alice) -> None:
    first = second = opened(alice)
    assert alice.post(NOTE, {"text": "of the first", "tags": "one", "version": first}).status_code == 302
    refused = alice.post(NOTE, {"text": "of the <second>", "tags": "two", "version": second})
    page = refused.content.decode()
    assert "it was changed since you opened this page" in page
    assert "of the &lt;second&gt;</textarea>" in page
    assert 'value="two"' in page
    assert "<bdi>of the first</bdi>" in page
    assert "Tags: <bdi>one</bdi>" in page
    assert JobNote.objects.get().text == "of the first"
    again = {"text": "of both", "tags": "one, two", "version": version(page)}
    assert alice.post(NOTE, again).status_code == 302
    assert JobNote.objects.get().text == "of both"


def test_a_note_that_was_removed_elsewhere_is_said_to_be_gone(alice) -> None:
    alice.post(NOTE, {"text": "first", "tags": "", "version": ""})
    both = opened(alice)
    alice.post(NOTE, {"text": "", "tags": "", "version": both})
    page = alice.post(NOTE, {"text": "second", "tags": "", "version": both}).content.decode()
    assert "nothing, the note was removed" in page
    assert not JobNote.objects.exists()
    assert alice.post(NOTE, {"text": "second", "tags": "", "version": version(page)}).status_code == 302


def test_the_same_note_sent_twice_is_no_conflict(alice) -> None:
    sent = {"text": "same", "tags": "b, a", "version": ""}
    assert [alice.post(NOTE, sent).status_code for _ in range(2)] == [302, 302]


def test_a_note_that_was_too_long_is_still_checked_when_it_fits(alice) -> None:
    alice.post(NOTE, {"text": "other", "tags": "", "version": ""})
    page = alice.post(NOTE, {"text": "x" * 2001, "tags": "", "version": ""}).content.decode()
    assert "it was changed" in alice.post(NOTE, {"text": "x", "tags": "", "version": version(page)}).content.decode()


def made_for(name: str) -> dict[str, str]:
    """The field by which a form of a page names the account that it was made for."""
    return {"writer": str(User.objects.get(username=name).pk)}


def sign_in_again(client: Client, answer, name: str = "alice") -> str:
    """Sign in where the answer leads, and the page that follows; no address on the way has what was typed."""
    page = client.post(answer["Location"], {"username": name, "password": PASSWORD}, follow=True)
    for address, _ in [(answer["Location"], 302), *page.redirect_chain]:
        assert "secret" not in address
    return page.content.decode()


def test_a_note_sent_after_the_session_ended_is_there_after_signing_in(alice) -> None:
    late = Client()
    answer = late.post(NOTE, {"text": "my <secret> words", "tags": "thesis", "version": ""} | made_for("alice"))
    page = sign_in_again(late, answer)
    assert "Not saved yet: you were signed out" in page
    assert "my &lt;secret&gt; words</textarea>" in page
    assert 'value="thesis"' in page
    assert '<details class="folded" id="note" open>' in page
    assert "please write it again" not in page
    assert not JobNote.objects.exists()
    assert "secret" not in late.get(PAGE).content.decode()


def test_so_are_a_question_to_support_and_a_comment(cast, reported) -> None:
    reported()
    for form, sent, shown in (
        ("share/", {"days": "7", "note": "a secret question"}, "a secret question</textarea>"),
        ("feedback/", {"code": "verdict", "answer": "right", "comment": "a secret word"}, "a secret word</textarea>"),
    ):
        late = Client()
        assert shown in sign_in_again(late, late.post(f"{PAGE}{form}", sent | made_for("alice")))
    assert not JobShare.objects.exists()


def test_nobody_else_who_signs_in_there_sees_it(alice, cast) -> None:
    late = Client()
    late.post(NOTE, {"text": "my secret words", "tags": "", "version": ""} | made_for("alice"))
    late.post("/sign-in/", {"username": "carol", "password": PASSWORD})
    assert "secret" not in late.get(PAGE).content.decode()
    assert "secret" not in late.get("/").content.decode()


@pytest.mark.parametrize("writer", ["alice", "nobody named"])
@pytest.mark.parametrize(
    ("form", "sent"),
    [
        ("note/", {"text": "a secret note", "tags": "secret", "version": ""}),
        ("share/", {"days": "7", "note": "a secret question"}),
        ("feedback/", {"code": "verdict", "answer": "right", "comment": "a secret word"}),
    ],
)
def test_nothing_that_was_kept_is_shown_to_another_account(cast, reported, form: str, sent: dict, writer: str) -> None:
    """carol leads the project, so she may open the job and answer too."""
    reported()
    late = Client()
    answer = late.post(f"{PAGE}{form}", sent | (made_for("alice") if writer == "alice" else {}))
    assert "secret" not in sign_in_again(late, answer, "carol")
    assert "unsaved" not in late.session
    assert "secret" not in late.get(PAGE).content.decode()


def test_the_forms_of_the_page_name_the_account_they_were_made_for(cast, reported) -> None:
    reported()
    for name in ("alice", "carol"):
        page = cast(name).get(PAGE).content.decode()
        forms = re.findall(r'<form[^>]* method="post"[^>]*action="/jobs/.*?</form>', page, re.DOTALL)
        field = f'<input type="hidden" name="writer" value="{made_for(name)["writer"]}">'
        assert forms
        assert all(field in form for form in forms)
