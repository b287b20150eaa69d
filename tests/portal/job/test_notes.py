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


WORDS = (
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
    "\u0915\u094d\u200d\u0937",
    "\U0001f469\U0001f3fd\u200d\U0001f4bb",
)
"""Persian, Hindi and an emoji of three characters: the joiner is part of their spelling."""


@pytest.mark.parametrize("word", [*WORDS, "\u2764\ufe0f\u200d\U0001f525"])
def test_joiners_inside_words_and_emoji_stay(alice, word: str) -> None:
    assert alice.post(NOTE, {"text": f"{word}\r\nnext", "tags": word}).status_code == 302
    page = alice.get(PAGE)
    assert (page.context["note"].text, page.context["tags"]) == (f"{word}\nnext", [word])
    assert f"<bdi>{word}</bdi>" in page.content.decode()


def test_marks_that_only_hide_are_removed(alice) -> None:
    alice.post(NOTE, {"text": "exe\u202egpj \u200d1\u200c", "tags": "ta\u200bg, \u2066x\u2069\u200d"})
    page = alice.get(PAGE)
    assert (page.context["note"].text, page.context["tags"]) == ("exegpj 1", ["tag", "x"])


@pytest.mark.parametrize("tags", ["\u202e", "good, \u200b\u200d", "\ufe0f", "a, \u2800"])
def test_a_tag_of_which_nothing_can_be_seen_is_refused(alice, tags: str) -> None:
    refused = alice.post(NOTE, {"text": "keep this", "tags": tags}).content.decode()
    assert "A tag needs at least one character that can be seen." in refused
    assert "keep this</textarea>" in refused
    assert not JobNote.objects.exists()


def test_a_job_that_has_not_ended_can_have_a_note_too(alice) -> None:
    record_job(job_record(job_id=2, state="RUNNING", ended_at=None))
    alice.post("/jobs/lumi/2/note/", {"text": SECRET, "tags": ""})
    assert SECRET in alice.get("/jobs/lumi/2/").content.decode()
