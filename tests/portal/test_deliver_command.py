"""`manage.py deliver` and `preview_mail`."""

from __future__ import annotations

from email import message_from_string, policy
from io import StringIO

import pytest
from django.core import mail
from django.core.management import CommandError, call_command

from jobs.models import User
from jobs.services import record_job
from reports.models import Delivery
from tests.payloads import job_record
from tests.steps import ran

pytestmark = pytest.mark.django_db


def said(*arguments: str) -> str:
    output = StringIO()
    call_command(*arguments, stdout=output)
    return output.getvalue()


@pytest.fixture
def addressed(reported) -> None:
    """Two reported jobs of alice's, who has an address."""
    reported(1, 2)
    User.objects.filter(username="alice").update(email="alice@users.example")


def test_a_dry_run_lists_who_would_get_what_and_does_nothing(addressed) -> None:
    listed = said("deliver", "--dry-run")
    assert "alice <alice@users.example> daily: lumi/1, lumi/2\n" in listed
    assert "nothing was written or sent" in listed
    assert (Delivery.objects.count(), len(mail.outbox)) == (0, 0)


def test_a_dry_run_says_who_would_get_nothing_and_why(reported) -> None:
    reported(1, ended_at="2026-01-01T12:00:00Z", started_at="2026-01-01T10:00:00Z")
    assert "alice, no message (ended_long_ago): lumi/1\n" in said("deliver", "--dry-run")


def test_deliver_due_sends_and_says_how_many(addressed) -> None:
    assert said("deliver", "--due") == "1 messages planned, 1 sent, 0 to be retried\n"
    assert said("deliver", "--due") == "0 messages planned, 0 sent, 0 to be retried\n"
    assert [message.subject for message in mail.outbox] == ["Kaiku: 2 jobs, 12.5 GPU-hours unused"]


def test_deliver_wants_to_be_told_what_to_do(db) -> None:
    with pytest.raises(CommandError, match="use --due to send"):
        call_command("deliver")


@pytest.mark.django_db(transaction=True)
def test_the_local_worker_delivers_too(addressed) -> None:
    assert ran("deliver") == 1
    assert len(mail.outbox) == 1


def test_a_preview_prints_the_message_and_sends_nothing(addressed) -> None:
    shown = said("preview_mail", "lumi/1")
    for part in ("Subject: Kaiku: job 1, train", "To: alice@users.example", "22.0 %", "[image/png gpu_use.png]"):
        assert part in shown
    assert (Delivery.objects.count(), len(mail.outbox)) == (0, 0)


def test_a_preview_can_be_html_for_a_browser_or_the_whole_message(addressed, tmp_path) -> None:
    call_command("preview_mail", "1", "--format", "html", "-o", str(tmp_path / "mail.html"))
    html = (tmp_path / "mail.html").read_text()
    assert html.count("data:image/png;base64,") == 3
    assert "cid:" not in html
    message = message_from_string(said("preview_mail", "1", "--format", "eml"), policy=policy.default)
    assert message["Subject"] == "Kaiku: job 1, train, 6.24 GPU-hours unused"


def test_a_preview_of_what_is_not_there_is_said_plainly(db) -> None:
    with pytest.raises(CommandError, match="no job 999"):
        call_command("preview_mail", "999")
    record_job(job_record(job_id=7))
    with pytest.raises(CommandError, match="has no report yet"):
        call_command("preview_mail", "7")


def test_a_preview_of_a_short_or_unmeasured_job_works(reported, cast) -> None:
    record_job(job_record(job_id=8))
    call_command("analyse_job", "lumi/8", stdout=StringIO())
    assert "not measured" in said("preview_mail", "8")
