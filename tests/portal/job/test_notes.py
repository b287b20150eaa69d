"""The owner's note and tags on the page of a job."""

from __future__ import annotations

import pytest
from django.utils import timezone

from jobs.models import JobNote
from jobs.services import record_job, share_job
from tests.payloads import job_record

PAGE = "/jobs/lumi/123456/"
NOTE = f"{PAGE}note/"
SECRET = "first try of the new grid"


@pytest.fixture
def alice(cast):
    record_job(job_record())
    return cast("alice")


def test_a_note_and_its_tags_are_kept_and_shown_to_their_writer(alice) -> None:
    answer = alice.post(NOTE, {"text": f"{SECRET} <b>x</b>\r\nsecond line", "tags": "paper 2, baseline ,, BASELINE"})
    assert answer["Location"] == f"{PAGE}?attempt=0#note"
    page = alice.get(PAGE).content.decode()
    assert f"{SECRET} &lt;b&gt;x&lt;/b&gt;\nsecond line</textarea>" in page
    assert '<a class="chip" href="/jobs/?q=baseline"><bdi>baseline</bdi></a>' in page
    assert '<a class="chip" href="/jobs/?q=paper%202"><bdi>paper 2</bdi></a>' in page
    assert 'value="baseline, paper 2"' in page
    alice.post(NOTE, {"text": " ", "tags": " , "})
    assert not JobNote.objects.exists()


@pytest.mark.parametrize("name", ["carol", "erin"])
def test_whoever_else_may_see_the_job_sees_no_note(alice, cast, name: str) -> None:
    alice.post(NOTE, {"text": SECRET, "tags": "thesis"})
    share_job(JobNote.objects.get().job, days=14, note="", now=timezone.now())
    page = cast(name).get(PAGE)
    assert page.status_code == 200
    for written in (SECRET, "thesis", "note and tags"):
        assert written not in page.content.decode()


@pytest.mark.parametrize("name", ["bob", "carol", "dave", "erin", "grace"])
def test_nobody_but_the_owner_writes_one(alice, cast, name: str) -> None:
    assert cast(name).post(NOTE, {"text": "x", "tags": ""}).status_code == 404
    assert not JobNote.objects.exists()


@pytest.mark.parametrize(
    ("field", "fits", "too_much", "said"),
    [
        # A browser sends two characters for the end of a line; people wrote one.
        ("text", "a\r\n" * 999 + "b", "a\r\n" * 1000 + "b", "at most 2000 characters"),
        ("tags", ",".join("abcdefghij"), ",".join("abcdefghijk"), "These are 11 tags; a run can have 10."),
        ("tags", "x" * 32, "x" * 33, "A tag can have 32 characters."),
    ],
)
def test_what_does_not_fit_comes_back_as_it_was_written(alice, field: str, fits: str, too_much: str, said: str) -> None:
    refused = alice.post(NOTE, {"text": "keep this", "tags": "keep", field: too_much})
    page = refused.content.decode()
    assert said in page
    assert too_much.replace("\r\n", "\n") in page.replace("\r\n", "\n")
    assert '<details class="folded" id="note" open>' in page
    assert not JobNote.objects.exists()
    assert alice.post(NOTE, {"text": "", "tags": "", field: fits}).status_code == 302
    assert JobNote.objects.count() == 1


def test_a_job_that_has_not_ended_can_have_a_note_too(alice) -> None:
    record_job(job_record(job_id=2, state="RUNNING", ended_at=None))
    alice.post("/jobs/lumi/2/note/", {"text": SECRET, "tags": ""})
    assert SECRET in alice.get("/jobs/lumi/2/").content.decode()
