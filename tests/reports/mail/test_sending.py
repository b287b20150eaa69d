"""The outbox through a real mail server: sent once, tried again when that may help, given up when not, never lost."""

from __future__ import annotations

from datetime import timedelta
from email.message import EmailMessage

import pytest
from django.db import DataError, OperationalError, connection

from analysis.models import JobEfficiency
from jobs.models import User
from jobs.services import record_job
from jobs.work_queue.outbox.rules import BACK_OFF, LEASE
from jobs.work_queue.selectors import failures
from reports.mail.digest import Choices
from reports.mail.emails import Letter
from reports.mail.services.planning import PLANNING, plan_due
from reports.mail.services.preferences import opt_out, save_choices
from reports.mail.services.sending import claim, deliver_due, send_due
from reports.models import Delivery, Report
from tests.mail_server import Post
from tests.payloads import job_record
from tests.portal.ingest.test_faults import broken_database
from tests.reports.conftest import DUE_AT

pytestmark = pytest.mark.django_db

SECOND = timedelta(seconds=1)


def the_row() -> Delivery:
    return Delivery.objects.get()


def state_and_reason() -> tuple[str, str]:
    row = the_row()
    return row.state, row.reason


def test_a_reported_job_is_told_once(ended, smtp: Post) -> None:
    ended()
    assert deliver_due(10, DUE_AT - SECOND) == 0
    assert deliver_due(10, DUE_AT) == 1
    assert deliver_due(10, DUE_AT + timedelta(days=3)) == 0
    assert smtp.recipients == ["alice@users.example"]
    row = the_row()
    assert (row.state, row.attempts, row.sent_at, row.address) == ("sent", 1, DUE_AT, "alice@users.example")
    assert Report.objects.get().delivery == row


def test_a_report_that_is_made_again_is_not_told_again(ended, smtp: Post) -> None:
    ended()
    deliver_due(10, DUE_AT)
    ended(123456, gpus=[], state="FAILED")
    deliver_due(10, DUE_AT + timedelta(days=3))
    assert len(smtp.messages) == 1


def test_two_people_get_a_message_each(ended, smtp: Post) -> None:
    ended(1)
    ended(2, user_id="bob")
    assert deliver_due(10, DUE_AT) == 2
    assert sorted(smtp.recipients) == ["alice@users.example", "bob@users.example"]


def test_no_second_message_on_the_same_day_and_all_of_it_on_the_next(ended, smtp: Post) -> None:
    ended(1)
    deliver_due(10, DUE_AT)
    ended(2)
    ended(3)
    assert deliver_due(10, DUE_AT + timedelta(hours=23)) == 0
    assert deliver_due(10, DUE_AT + timedelta(hours=24)) == 1
    assert [message["Subject"] for message in smtp.messages] == [
        "Kaiku: job 1, train, 6.24 GPU-hours unused",
        "Kaiku: 2 jobs, 12.5 GPU-hours unused",
    ]


@pytest.mark.parametrize("step", ["MAIL", "RCPT", "DATA"])
def test_a_temporary_refusal_is_tried_again_later_with_the_same_message_id(ended, smtp: Post, step: str) -> None:
    ended()
    smtp.answers[step] = "451 Busy, come back later"
    assert deliver_due(10, DUE_AT) == 0
    assert state_and_reason() == ("pending", "451 Busy, come back later")
    assert the_row().due_at == DUE_AT + BACK_OFF[0]
    del smtp.answers[step]
    assert deliver_due(10, DUE_AT + BACK_OFF[0] - SECOND) == 0
    assert deliver_due(10, DUE_AT + BACK_OFF[0]) == 1
    assert state_and_reason() == ("sent", "")
    assert smtp.messages[0]["Message-ID"] == f"<{the_row().key}@hpc.example>"


@pytest.mark.parametrize("step", ["MAIL", "RCPT", "DATA"])
def test_a_permanent_refusal_is_not_tried_again(ended, smtp: Post, step: str) -> None:
    ended()
    smtp.answers[step] = "550 No such person"
    assert deliver_due(10, DUE_AT) == 0
    assert state_and_reason() == ("failed", "550 No such person")
    smtp.answers.clear()
    assert deliver_due(10, DUE_AT + timedelta(days=3)) == 0
    assert smtp.messages == []


def test_one_refused_address_does_not_keep_the_others_from_their_mail(ended, smtp: Post) -> None:
    ended(1)
    ended(2, user_id="bob")
    smtp.answers["alice@users.example"] = "550 No such person"
    assert deliver_due(10, DUE_AT) == 1
    assert smtp.recipients == ["bob@users.example"]


def test_what_is_refused_for_days_is_given_up_and_said(ended, smtp: Post) -> None:
    ended()
    smtp.answers["RCPT"] = "450 Greylisted"
    now = DUE_AT
    for pause in BACK_OFF:
        deliver_due(10, now)
        assert the_row().state == "pending"
        now += pause
    deliver_due(10, now)
    assert state_and_reason() == ("failed", "450 Greylisted")


def test_a_server_that_hangs_costs_one_timeout_and_no_message(ended, settings, smtp: Post) -> None:
    ended(1)
    ended(2, user_id="bob")
    smtp.hangs, settings.EMAIL_TIMEOUT = True, 1
    assert deliver_due(10, DUE_AT) == 0
    # The second was not even tried: the server is the trouble.
    assert sorted(Delivery.objects.values_list("state", "attempts")) == [("pending", 0), ("pending", 1)]
    smtp.hangs, settings.EMAIL_TIMEOUT = False, 60
    assert deliver_due(10, DUE_AT + BACK_OFF[0]) == 2
    assert len(smtp.messages) == 2


def test_a_server_that_takes_mail_and_never_answers_gets_it_twice_at_most(ended, settings, smtp: Post) -> None:
    ended()
    smtp.hangs_after_taking, settings.EMAIL_TIMEOUT = True, 5
    for days in range(3):
        deliver_due(10, DUE_AT + timedelta(days=days))
    assert state_and_reason() == ("failed", "mail server: no answer to the whole message")
    assert [message["Message-ID"] for message in smtp.messages] == [f"<{the_row().key}@hpc.example>"] * 2


@pytest.mark.parametrize("step", ["MAIL", "RCPT"])
def test_a_server_that_is_silent_before_the_message_is_tried_for_as_long_as_one_that_is_away(
    ended, settings, smtp: Post, step: str
) -> None:
    ended()
    smtp.silent_at, settings.EMAIL_TIMEOUT = step, 1
    for days in range(3):
        deliver_due(10, DUE_AT + timedelta(days=days))
    assert the_row().state == "pending"
    smtp.silent_at, settings.EMAIL_TIMEOUT = "", 60
    assert deliver_due(10, DUE_AT + timedelta(days=4)) == 1
    assert len(smtp.messages) == 1


def test_a_line_that_drops_in_the_middle_of_the_message_is_tried_again(ended, smtp: Post) -> None:
    ended()
    smtp.drops_in_data = True
    assert deliver_due(10, DUE_AT) == 0
    assert the_row().state == "pending"
    assert "mail server" in the_row().reason
    smtp.drops_in_data = False
    assert deliver_due(10, DUE_AT + BACK_OFF[0]) == 1
    assert len(smtp.messages) == 1


def test_a_server_that_is_away_loses_nothing(ended, smtp: Post, settings) -> None:
    ended()
    settings.EMAIL_PORT = 1
    assert deliver_due(10, DUE_AT) == 0
    assert the_row().state == "pending"
    assert "refused" in the_row().reason
    settings.EMAIL_PORT = smtp.port
    assert deliver_due(10, DUE_AT + BACK_OFF[0]) == 1


def test_a_server_that_closes_for_maintenance_ends_the_round(ended, smtp: Post) -> None:
    ended(1)
    ended(2, user_id="bob")
    smtp.answers["RCPT"] = "421 Closing for maintenance"
    assert deliver_due(10, DUE_AT) == 0
    assert sorted(Delivery.objects.values_list("attempts", flat=True)) == [0, 1]


RECORDING = '"sent_at" = '


@pytest.mark.django_db(transaction=True)
def test_a_database_that_goes_between_sending_and_recording_repeats_one_message_at_most(ended, smtp: Post) -> None:
    ended(1)
    ended(2, user_id="bob")
    plan_due(10, DUE_AT)
    with broken_database(RECORDING), pytest.raises(OperationalError):
        send_due(10, DUE_AT)
    assert len(smtp.messages) == 1
    # The other goes at once, the one in doubt when its lease is over, under the same name.
    assert send_due(10, DUE_AT + SECOND) == 1
    assert send_due(10, DUE_AT + LEASE) == 1
    assert send_due(10, DUE_AT + timedelta(days=3)) == 0
    ids = [message["Message-ID"] for message in smtp.messages]
    assert (len(ids), len(set(ids))) == (3, 2)


@pytest.mark.django_db(transaction=True)
def test_a_second_such_end_gives_up_rather_than_repeat_again(ended, smtp: Post) -> None:
    ended()
    plan_due(10, DUE_AT)
    for attempt in range(2):
        with broken_database(RECORDING), pytest.raises(OperationalError):
            send_due(10, DUE_AT + attempt * LEASE)
    assert send_due(10, DUE_AT + 2 * LEASE) == 0
    assert state_and_reason() == ("failed", "interrupted_twice")
    assert len(smtp.messages) == 2


def test_a_worker_that_ends_before_handing_over_costs_nothing_but_time(ended, smtp: Post) -> None:
    ended()
    plan_due(10, DUE_AT)
    for attempt in range(3):
        assert claim(DUE_AT + attempt * LEASE) is not None
    assert send_due(10, DUE_AT + 2 * LEASE + SECOND) == 0
    assert send_due(10, DUE_AT + 3 * LEASE) == 1
    assert the_row().interruptions == 0


def test_a_letter_that_ends_its_worker_each_time_is_given_up_and_the_others_go(ended, smtp: Post) -> None:
    """Nine times: as often as a letter that a server refuses for now."""
    ended(1)
    ended(2, user_id="bob")
    plan_due(10, DUE_AT)
    for attempt in range(9):
        assert claim(DUE_AT + attempt * LEASE).user.username == "alice"
    assert send_due(10, DUE_AT + 9 * LEASE) == 1
    assert smtp.recipients == ["bob@users.example"]
    row = Delivery.objects.get(user__username="alice")
    assert (row.state, row.reason, row.attempts) == ("failed", "worker_ended", 9)


def test_somebody_who_opts_out_while_the_letter_is_written_gets_nothing(ended, smtp: Post) -> None:
    ended()
    plan_due(10, DUE_AT)
    alice = User.objects.get(username="alice")

    def opt_out_on_the_way(execute, sql, params, many, context):
        # The figures are read while the letter is written, after the choices were looked up.
        if "metrics_nodesummary" in sql and the_row().state == "sending":
            opt_out(alice, DUE_AT)
        return execute(sql, params, many, context)

    with connection.execute_wrapper(opt_out_on_the_way):
        assert send_due(10, DUE_AT) == 0
    assert state_and_reason() == ("suppressed", "mail_off")
    assert smtp.messages == []


def test_a_choice_of_never_reaches_what_waits_for_its_next_attempt(ended, smtp: Post) -> None:
    ended()
    smtp.answers["RCPT"] = "451 Later"
    deliver_due(10, DUE_AT)
    opt_out(User.objects.get(username="alice"), DUE_AT)
    smtp.answers.clear()
    assert deliver_due(10, DUE_AT + timedelta(days=1)) == 0
    assert state_and_reason() == ("suppressed", "mail_off")


def test_without_an_address_the_outbox_says_so_and_the_jobs_are_told_once_there_is_one(ended, smtp: Post) -> None:
    ended(1, 2, address="")
    assert deliver_due(10, DUE_AT) == 0
    assert state_and_reason() == ("suppressed", "no_address")
    User.objects.filter(username="alice").update(email="alice@users.example")
    assert deliver_due(10, DUE_AT + timedelta(days=1)) == 1
    assert smtp.messages[0]["Subject"] == "Kaiku: 2 jobs, 12.5 GPU-hours unused"


@pytest.mark.parametrize("address", ["alice@users.example\nBcc: all@users.example", "nobody", "a b@users.example"])
def test_an_address_that_is_none_is_never_given_to_the_server(ended, smtp: Post, address: str) -> None:
    ended(address=address)
    assert deliver_due(10, DUE_AT) == 0
    assert state_and_reason() == ("suppressed", "bad_address")


def test_a_closed_account_gets_no_mail(ended, smtp: Post) -> None:
    ended()
    User.objects.update(is_active=False)
    assert deliver_due(10, DUE_AT) == 0
    assert state_and_reason() == ("suppressed", "account_closed")


def test_a_letter_that_cannot_be_written_is_logged_and_does_not_stop_the_next(ended, smtp: Post, caplog) -> None:
    ended(1)
    ended(2, user_id="bob")
    Report.objects.filter(job__job_id=1).update(content={"schema": "another"})
    assert deliver_due(10, DUE_AT) == 1
    assert smtp.recipients == ["bob@users.example"]
    row = Delivery.objects.get(user__username="alice")
    assert (row.state, row.reason) == ("pending", "could not be written: ValidationError")


@pytest.mark.parametrize("error", [DataError("value out of range"), OperationalError("statement timeout")])
def test_a_letter_whose_rows_the_database_refuses_does_not_stop_the_next(ended, smtp: Post, error: Exception) -> None:
    ended(1)
    ended(2, user_id="bob")
    plan_due(10, DUE_AT)
    refused = iter([error])

    def refuse_once(execute, sql, params, many, context):
        if "earlier_util" in sql and (told := next(refused, None)):
            raise told
        return execute(sql, params, many, context)

    with connection.execute_wrapper(refuse_once):
        assert send_due(10, DUE_AT) == 1
    row = Delivery.objects.get(user__username="alice")
    assert (row.state, row.reason) == ("pending", f"could not be written: {type(error).__name__}")


def test_a_fault_on_the_way_to_the_server_ends_no_round(ended, smtp: Post, monkeypatch) -> None:
    ended(1)
    ended(2, user_id="bob")
    message = Letter.message

    def broken(letter: Letter):
        if letter.to == ["alice@users.example"]:
            raise KeyError("charset")
        return message(letter)

    monkeypatch.setattr(Letter, "message", broken)
    assert deliver_due(10, DUE_AT) == 1
    assert smtp.recipients == ["bob@users.example"]
    row = Delivery.objects.get(user__username="alice")
    assert (row.state, row.reason) == ("pending", "could not be sent: KeyError")
    deliver_due(10, DUE_AT + BACK_OFF[0])
    row.refresh_from_db()
    assert row.state == "failed"


def test_a_person_whose_mail_cannot_be_planned_stops_nobody_else(ended, smtp: Post) -> None:
    ended(1)
    ended(2, user_id="bob")
    JobEfficiency.objects.filter(job__job_id=1).update(efficiency_class="SPLENDID")
    assert deliver_due(10, DUE_AT) == 1
    assert smtp.recipients == ["bob@users.example"]
    (row,) = failures(PLANNING)
    assert (row.key, row.tries) == (User.objects.get(username="alice").pk, 1)
    assert row.error.startswith("ValueError at reports/selectors.py:")
    ended(3, user_id="bob")
    assert deliver_due(10, DUE_AT + timedelta(days=1)) == 1
    JobEfficiency.objects.filter(job__job_id=1).update(efficiency_class="WASTED")
    assert deliver_due(10, DUE_AT + timedelta(days=2)) == 1
    assert smtp.recipients == ["bob@users.example", "bob@users.example", "alice@users.example"]
    assert not failures().exists()


def test_short_and_unmeasured_jobs_alone_send_nothing(ended, smtp: Post) -> None:
    ended(1, gpus=[])
    ended(2, walltime_used_s=100.0, started_at="2026-11-20T11:58:20Z")
    assert deliver_due(10, DUE_AT) == 0
    assert deliver_due(10, DUE_AT + timedelta(days=8)) == 0
    assert state_and_reason() == ("suppressed", "not_told_alone")
    assert smtp.messages == []


def test_a_job_without_a_gpu_is_not_told(ended, smtp: Post) -> None:
    record_job(job_record(job_id=5, gpus_allocated=0, gpus_requested=0))
    ended(6)
    deliver_due(10, DUE_AT)
    assert [message["Subject"] for message in smtp.messages] == ["Kaiku: job 6, train, 6.24 GPU-hours unused"]


def test_a_second_planner_finds_nothing_left_to_plan(ended, smtp: Post) -> None:
    ended(1, 2)
    assert plan_due(10, DUE_AT) == 1
    assert plan_due(10, DUE_AT) == 0
    assert the_row().reports.count() == 2


def attachments(message: EmailMessage) -> list[str]:
    return [part.get_filename() for part in message.walk() if part.get_filename()]


def test_a_pdf_is_attached_when_asked_and_only_then(ended, smtp: Post) -> None:
    figures = ["gpu_use.png", "gpu_memory.png", "gpu_heatmap.png"]
    ended(1)
    deliver_due(10, DUE_AT)
    save_choices(User.objects.get(username="alice"), Choices(with_pdf=True), DUE_AT)
    ended(2)
    deliver_due(10, DUE_AT + timedelta(days=1))
    assert [attachments(message) for message in smtp.messages] == [figures, [*figures, "kaiku-2.pdf"]]
    pdf = next(part for part in smtp.messages[1].walk() if part.get_content_type() == "application/pdf")
    assert pdf.get_content().startswith(b"%PDF-")
