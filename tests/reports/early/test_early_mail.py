"""Mail about running jobs: to those who chose it, once, by day, and only while it is so."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

import pytest

from analysis.models import EarlyWord
from jobs.models import User
from jobs.services import record_job
from jobs.work_queue.outbox.rules import BACK_OFF, LEASE
from reports.early.selectors import people_to_mail
from reports.early.services.mailing import plan_early_mail
from reports.mail.digest import Choices, Frequency
from reports.mail.services.preferences import opt_out, save_choices, save_early_choice
from reports.mail.services.sending import claim, send_due
from reports.models import Delivery
from tests.early_words import FOUND_AT, ended_job, found_word, queue_was_read
from tests.mail_server import Post
from tests.payloads import job_record
from wire.numbers import NO_BREAK

pytestmark = pytest.mark.django_db

MINUTE, HOUR = timedelta(minutes=1), timedelta(hours=1)


def wants(user: str = "alice", **chosen: bool) -> User:
    person = User.objects.get(username=user)
    save_early_choice(person, FOUND_AT - HOUR, **{"by_mail": True} | chosen)
    return person


def told(now: datetime) -> int:
    """One round at this moment: how many messages were sent."""
    plan_early_mail(100, now)
    return send_due(100, now)


def reasons() -> list[tuple[str, str]]:
    return sorted(Delivery.objects.values_list("state", "reason"))


def test_nobody_gets_mail_who_has_not_chosen_it(smtp: Post) -> None:
    found_word()
    assert told(FOUND_AT) == 0
    assert reasons() == []


def test_a_word_is_mailed_once_with_what_and_how_much_in_the_subject(smtp: Post) -> None:
    found_word()
    wants()
    assert [told(FOUND_AT), told(FOUND_AT + MINUTE), told(FOUND_AT + 30 * HOUR)] == [1, 0, 0]
    message = smtp.messages[0]
    assert smtp.recipients == ["alice@users.example"]
    assert message["Subject"] == "Kaiku: 8 GPUs of train (lumi/123456) idle for 1 h 05 min"
    text = message.get_body(("plain",)).get_content().replace("\r\n", "\n")
    assert "\n    scancel 123456\n" in text
    assert "/jobs/lumi/123456/" in text
    html = message.get_body(("html",)).get_content()
    assert ">scancel 123456</pre>" in html
    assert ">Open the job</a>" in html


def test_findings_of_one_job_share_a_message(smtp: Post) -> None:
    found_word()
    found_word(
        code="gpu_memory_full",
        evidence={
            "full_gpus": 1,
            "gpus": 8,
            "gpu_list": "nid005002: 0",
            "now_gb": 60.0,
            "limit_gb": 64.0,
            "slope_gb_per_h": 3.0,
            "full_in_s_low": 3600.0,
            "full_in_s_high": 5400.0,
        },
    )
    wants()
    assert told(FOUND_AT) == 1
    assert smtp.messages[0]["Subject"] == "Kaiku: 8 GPUs of train (lumi/123456) idle for 1 h 05 min, and 1 more"


def test_jobs_of_one_array_share_a_message_and_later_ones_are_not_told_again(smtp: Post) -> None:
    for job_id in range(50):
        found_word(1000 + job_id, array=1000)
    wants()
    assert told(FOUND_AT) == 1
    assert smtp.messages[0]["Subject"].endswith("idle for 1 h 05 min, and 49 more jobs")
    found_word(2000, array=1000, found_at=FOUND_AT + HOUR)
    assert told(FOUND_AT + HOUR) == 0
    assert reasons() == [("sent", ""), ("suppressed", "told_of_this_array")]


def test_all_words_of_a_person_are_one_message_with_the_dearest_job_first(smtp: Post) -> None:
    # Each job runs until 2 h 55 min after FOUND_AT: job 7 costs 8 x 2.92 = 23.3 GPU-hours more, the others 2.9 to 8.75.
    for job_id in range(1, 38):
        found_word(job_id, gpu_hours_per_hour=8.0 if job_id == 7 else 3.0 if job_id < 7 else 1.0)
    wants()
    assert told(FOUND_AT) == 1
    (message,) = smtp.messages
    assert message["Subject"].startswith(
        "Kaiku: 37 jobs: 8 GPUs of train (lumi/7) idle for 1 h 05 min, and 36 more jobs"
    )
    text = message.get_body(("plain",)).get_content()
    assert re.findall(r"scancel (\d+)", text) == ["7", "1", "2", "3", "4", "5", "6", "8", "9", "10"]
    assert re.search(r"And 27.more jobs: https?://\S+/running/", text)
    assert "27" in message.get_body(("html",)).get_content()


def test_what_comes_after_the_third_message_waits_for_the_next_day_and_is_sent_once(smtp: Post) -> None:
    found_word(1)
    wants()
    assert told(FOUND_AT) == 1
    for number in range(1, 5):
        found_word(1 + number, found_at=FOUND_AT + number * MINUTE)
        assert told(FOUND_AT + number * MINUTE) == (number < 3)
    assert reasons() == [("sent", "")] * 3
    EarlyWord.objects.filter(job_id=4).update(over_at=FOUND_AT + HOUR)
    EarlyWord.objects.update(held_at=FOUND_AT + 19 * HOUR)
    # 20 hours later it is 08:00 of the next day: of 4 and 5, which waited, 4 no longer holds.
    assert [told(FOUND_AT + 20 * HOUR), told(FOUND_AT + 21 * HOUR)] == [1, 0]
    assert smtp.messages[3]["Subject"] == "Kaiku: 8 GPUs of train (lumi/5) idle for 1 h 05 min"


def test_a_word_that_was_over_before_it_was_sent_and_holds_again_is_sent_once(smtp: Post) -> None:
    found_word()
    wants()
    plan_early_mail(100, FOUND_AT)
    EarlyWord.objects.update(over_at=FOUND_AT)
    assert [told(FOUND_AT), told(FOUND_AT + MINUTE)] == [0, 0]
    EarlyWord.objects.update(over_at=None)
    assert [told(FOUND_AT + 2 * MINUTE), told(FOUND_AT + 3 * MINUTE)] == [1, 0]
    assert reasons() == [("sent", ""), ("suppressed", "no_longer_so")]


def test_a_word_left_out_of_a_message_is_sent_once_it_holds_again(smtp: Post) -> None:
    found_word(1)
    found_word(2)
    wants()
    plan_early_mail(100, FOUND_AT)
    EarlyWord.objects.filter(job_id=1).update(over_at=FOUND_AT)
    assert told(FOUND_AT) == 1
    EarlyWord.objects.update(over_at=None)
    assert [told(FOUND_AT + MINUTE), told(FOUND_AT + 2 * MINUTE)] == [1, 0]
    assert [message["Subject"].split(" idle")[0] for message in smtp.messages] == [
        "Kaiku: 8 GPUs of train (lumi/2)",
        "Kaiku: 8 GPUs of train (lumi/1)",
    ]


def test_who_has_had_most_messages_is_planned_last(smtp: Post) -> None:
    found_word(1)
    found_word(2, user="bob")
    alice, bob = wants(), User.objects.get(username="bob")
    assert told(FOUND_AT) == 1
    wants("bob")
    found_word(3)
    assert people_to_mail(FOUND_AT) == [bob.pk, alice.pk]


def test_what_no_longer_holds_at_the_last_moment_is_not_sent(smtp: Post) -> None:
    found_word()
    wants()
    plan_early_mail(100, FOUND_AT)
    EarlyWord.objects.update(over_at=FOUND_AT)
    assert send_due(100, FOUND_AT) == 0
    assert reasons() == [("suppressed", "no_longer_so")]


def test_a_job_that_has_ended_is_not_told_of(smtp: Post) -> None:
    found_word()
    wants()
    plan_early_mail(100, FOUND_AT)
    ended_job()
    assert told(FOUND_AT) == 0
    assert reasons() == [("suppressed", "no_longer_so")]


def recorded_end(ended_at: datetime, **columns: int) -> None:
    """The record of the job arrives with an end, while the queue still lists it as running."""
    text = ended_at.isoformat().replace("+00:00", "Z")
    record_job(job_record(ended_at=text, **{"job_id": 123456} | columns))


# The job of the word started 65 minutes before FOUND_AT.
@pytest.mark.parametrize(
    ("ended_at", "columns", "mails"),
    [
        (FOUND_AT - MINUTE, {}, 0),
        (FOUND_AT - MINUTE, {"attempt": 1}, 0),
        (FOUND_AT - MINUTE, {"job_id": 123457}, 1),
        (FOUND_AT - 65 * MINUTE, {}, 0),
        # An earlier run of the same number, which was requeued.
        (FOUND_AT - 66 * MINUTE, {}, 1),
    ],
)
@pytest.mark.parametrize("is_planned", [False, True])
def test_a_job_whose_record_has_an_end_is_not_told_of_though_the_queue_lists_it(
    smtp: Post, ended_at: datetime, columns: dict[str, int], mails: int, is_planned: bool
) -> None:
    found_word()
    wants()
    if is_planned:
        plan_early_mail(100, FOUND_AT)
    recorded_end(ended_at, **columns)
    assert told(FOUND_AT) == mails


@pytest.mark.parametrize("is_planned", [False, True])
def test_nothing_is_told_while_the_queue_was_not_read_lately(smtp: Post, is_planned: bool) -> None:
    found_word()
    wants()
    if is_planned:
        plan_early_mail(100, FOUND_AT)
    queue_was_read(FOUND_AT - HOUR)
    assert told(FOUND_AT) == 0


@pytest.mark.parametrize("end", [opt_out, lambda user: save_early_choice(user, FOUND_AT, by_mail=False)])
def test_a_choice_against_mail_applies_to_what_waits(smtp: Post, end) -> None:
    found_word()
    user = wants()
    plan_early_mail(100, FOUND_AT)
    end(user)
    assert told(FOUND_AT) == 0
    assert [state for state, _ in reasons()] == ["suppressed"]


def test_a_choice_made_while_the_letter_is_written_applies(smtp: Post) -> None:
    found_word()
    user = wants()
    plan_early_mail(100, FOUND_AT)
    assert claim(FOUND_AT) is not None
    save_early_choice(user, FOUND_AT, by_mail=False)
    assert reasons() == [("suppressed", "early_mail_off")]


def test_who_wants_no_mail_about_a_project_gets_none_about_its_running_jobs(smtp: Post) -> None:
    word = found_word()
    user = wants()
    save_choices(user, Choices(projects={word.project_id: Frequency.OFF}))
    assert told(FOUND_AT) == 0
    save_choices(user, Choices(frequency=Frequency.OFF))
    assert told(FOUND_AT) == 0
    assert reasons() == []


def test_a_busy_mail_server_is_tried_again_and_a_word_over_by_then_is_dropped(smtp: Post) -> None:
    found_word(1)
    wants()
    smtp.answers["RCPT"] = "451 Busy"
    assert told(FOUND_AT) == 0
    smtp.answers.clear()
    found_word(2)
    EarlyWord.objects.filter(job_id=1).update(over_at=FOUND_AT)
    assert told(FOUND_AT + BACK_OFF[0]) == 1
    assert reasons() == [("sent", "")]
    assert "lumi/2" in smtp.messages[-1]["Subject"]


def test_a_worker_that_ends_while_sending_repeats_it_at_most_once(smtp: Post) -> None:
    found_word()
    wants()
    plan_early_mail(100, FOUND_AT)
    now = FOUND_AT
    for _ in range(2):
        row = claim(now)
        assert row is not None
        Delivery.objects.filter(pk=row.pk).update(handed_at=now)  # handed over, and never recorded
        now += LEASE
    assert told(now) == 0
    assert reasons() == [("failed", "interrupted_twice")]


def test_an_array_whose_message_is_on_its_way_is_not_told_again(smtp: Post) -> None:
    found_word(1000, array=1000)
    wants()
    plan_early_mail(100, FOUND_AT)
    assert claim(FOUND_AT) is not None
    found_word(1001, array=1000, found_at=FOUND_AT + MINUTE)
    plan_early_mail(100, FOUND_AT + MINUTE)
    assert reasons() == [("sending", "")]
    found_word(2000, found_at=FOUND_AT + MINUTE)
    plan_early_mail(100, FOUND_AT + MINUTE)
    assert reasons() == [("pending", ""), ("sending", "")]


# Helsinki is UTC+2 in November: 22:30 there is 20:30 UTC, and 07:00 is 05:00 UTC.
NIGHT = datetime(2026, 11, 20, 20, 30, tzinfo=UTC)
MORNING = datetime(2026, 11, 21, 5, 0, tzinfo=UTC)


def at_night(**chosen: bool) -> None:
    found_word(found_at=NIGHT, held_at=MORNING - HOUR)
    User.objects.update(time_zone="Europe/Helsinki")
    wants(**chosen)


def test_what_is_found_at_night_is_sent_in_the_morning_of_its_reader(smtp: Post) -> None:
    at_night()
    assert [told(NIGHT), told(MORNING - MINUTE), told(MORNING)] == [0, 0, 1]


def test_by_the_sites_clock_the_same_moment_is_no_night(smtp: Post) -> None:
    found_word(found_at=NIGHT)
    wants()
    assert told(NIGHT) == 1


def test_who_wants_mail_at_night_gets_it_at_night(smtp: Post) -> None:
    at_night(at_night=True)
    assert told(NIGHT) == 1


def test_what_is_over_by_the_morning_is_not_sent(smtp: Post) -> None:
    at_night()
    assert told(NIGHT) == 0
    ended_job()
    assert told(MORNING) == 0
    assert reasons() == [("suppressed", "no_longer_so")]


def test_what_is_found_later_at_night_joins_the_message_of_the_morning(smtp: Post) -> None:
    at_night()
    told(NIGHT)
    found_word(
        code="some_gpus_unused",
        found_at=NIGHT + HOUR,
        evidence={
            "unused_gpus": 6,
            "gpus": 8,
            "idle_s": 3900.0,
            "working_gpus": 2,
            "gpu_list": "nid005002: 2-7",
        },
    )
    told(NIGHT + HOUR)
    EarlyWord.objects.update(held_at=MORNING - HOUR)
    assert told(MORNING) == 1
    assert "6 of 8 GPUs had no work" in smtp.messages[0].get_body(("plain",)).get_content()


def test_a_message_that_a_busy_server_delays_into_the_night_waits_for_the_morning(smtp: Post) -> None:
    evening = NIGHT - 31 * MINUTE  # 21:59 in Helsinki
    found_word(found_at=evening, held_at=MORNING - HOUR)
    User.objects.update(time_zone="Europe/Helsinki")
    wants()
    smtp.answers["RCPT"] = "451 Busy"
    told(evening)
    smtp.answers.clear()
    assert [told(evening + BACK_OFF[0]), told(MORNING - MINUTE), told(MORNING)] == [0, 0, 1]


def test_a_hostile_name_of_a_job_adds_no_header_and_no_markup(smtp: Post) -> None:
    found_word(job_name="x\r\nBcc: eve@evil.example <script>alert(1)</script>")
    wants()
    assert told(FOUND_AT) == 1
    message = smtp.messages[0]
    assert message["Bcc"] is None
    assert smtp.recipients == ["alice@users.example"]
    assert "<script>" not in message.get_body(("html",)).get_content()


def test_a_person_without_an_address_or_with_a_closed_account_is_left_out(smtp: Post) -> None:
    found_word(1)
    found_word(2, user="bob")
    wants()
    wants("bob")
    User.objects.filter(username="alice").update(email="")
    User.objects.filter(username="bob").update(is_active=False)
    assert told(FOUND_AT) == 0
    assert reasons() == []


def test_commands_can_be_copied_from_the_letter(smtp: Post) -> None:
    found_word()
    wants()
    told(FOUND_AT)
    html = smtp.messages[0].get_body(("html",)).get_content()
    commands = re.findall(r"<pre[^>]*>(.*?)</pre>", html, re.S)
    assert len(commands) == 5
    assert [command for command in commands if NO_BREAK in command or command != command.strip()] == []


def test_what_was_not_confirmed_for_three_hours_is_not_sent_in_the_morning(smtp: Post) -> None:
    at_night()
    EarlyWord.objects.update(held_at=MORNING - 3 * HOUR - MINUTE)
    assert [told(NIGHT), told(MORNING)] == [0, 0]
    assert reasons() == [("suppressed", "no_longer_so")]
