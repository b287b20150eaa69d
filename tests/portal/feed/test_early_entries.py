"""Early words in the feed: for who wants them there, under one name, changed once they are over."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from analysis.models import EarlyWord
from jobs.models import User
from jobs.services import record_job
from reports.mail.services.preferences import save_early_choice
from tests.early_words import FOUND_AT, ended_job, found_word, queue_was_read
from tests.payloads import job_record
from tests.portal.feed.test_reports_feed import ATOM, address, assert_valid, entries, secret_of

pytestmark = pytest.mark.django_db
MINUTE = timedelta(minutes=1)


def found(*, is_chosen: bool = True) -> list[dict[str, str]]:
    """The entries of alice's feed: id, title, updated and summary of each."""
    save_early_choice(User.objects.get(username="alice"), timezone.now(), in_feed=is_chosen)
    User.objects.get(username="alice").tokens.all().delete()
    content = Client().get(address(secret_of("alice"))).content
    assert_valid(content)
    names = ("id", "title", "updated", "summary")
    return [{name: entry.findtext(f"{ATOM}{name}") or "" for name in names} for entry in entries(content)]


def test_only_who_wants_them_there_has_them(db) -> None:
    found_word()
    found_word(2, user="bob")
    assert found(is_chosen=False) == []
    queue_was_read(timezone.now())
    EarlyWord.objects.update(held_at=timezone.now())
    (entry,) = found()
    assert entry["title"] == "8 GPUs of train (lumi/123456) idle for 1 h 05 min"
    assert entry["id"].endswith(":job/lumi/123456.0/all_gpus_idle")
    assert "scancel 123456" in entry["summary"]


def test_one_that_no_longer_holds_keeps_its_name_and_states_it(db) -> None:
    found_word()
    (before,) = found()
    EarlyWord.objects.update(over_at=FOUND_AT + MINUTE)
    (after,) = found()
    assert after["id"] == before["id"]
    assert after["updated"] > before["updated"]
    assert after["title"].startswith("Over: ")
    # Neither commands nor costs of a job that goes on.
    assert "srun" not in str(after)
    assert "So far the job has used" not in str(after)
    assert "scancel" not in after["summary"]


def test_one_whose_queue_is_not_read_states_when_it_was_confirmed_and_names_no_end(db) -> None:
    found_word()
    EarlyWord.objects.update(held_at=timezone.now())
    queue_was_read(timezone.now() - 60 * MINUTE)
    (entry,) = found()
    assert entry["summary"].startswith("Last confirmed at ")
    assert "scancel" not in entry["summary"]


def test_one_whose_later_attempt_has_ended_states_when(db) -> None:
    found_word(found_at=FOUND_AT - timedelta(hours=1))
    record_job(job_record(job_id=123456, attempt=1))
    (entry,) = found()
    assert entry["summary"].startswith("The job ended at 2026-11-20 12:00 UTC.")


def test_one_whose_job_has_ended_states_when(db) -> None:
    found_word(found_at=FOUND_AT - timedelta(hours=1))
    ended_job()
    record_job(job_record(job_id=123456))
    (entry,) = found()
    assert entry["summary"].startswith("The job ended at 2026-11-20 12:00 UTC.")


def test_a_hostile_name_is_text(db) -> None:
    found_word(job_name="<script>&\x0b")
    (entry,) = found()
    assert "<script>&" in entry["title"]
