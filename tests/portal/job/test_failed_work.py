"""Failed work as administrators see it and name it, and what the owner of a job reads meanwhile."""

from __future__ import annotations

import logging
import struct
from datetime import datetime, timedelta
from html import unescape

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from analysis.models import JobEfficiency
from analysis.services import JUDGEMENT, analyse_due
from education.models import Lesson, LessonLink
from education.services.links import LINK
from jobs.imports.services import IMPORT, ONLY
from jobs.models import AuditEntry, Job, User, WorkFailure
from jobs.services import record_job
from jobs.work_queue.selectors import failures
from jobs.work_queue.services import try_again
from reports.mail.services import planning
from reports.mail.services.planning import PLANNING
from reports.services.publishing import REPORT
from tests.payloads import job_record
from tests.portal.conftest import carry_session

pytestmark = pytest.mark.django_db

LIST, PAGE = "/admin/jobs/workfailure/", "/jobs/lumi/123456/"
MAKING, NOT_YET = "The report is being made", "The report could not be made yet"
COULD_NOT = "The report could not be made"
NOTHING_TO_DO = "You do not have to do anything."


@pytest.fixture
def grace(cast) -> Client:
    """The administrator of the cast."""
    return cast("grace")


def failed(kind: str, key: int, *, is_aside: bool = True, error: str = "struct.error at a.py:1") -> WorkFailure:
    now = timezone.now()
    return WorkFailure.objects.create(
        kind=kind, key=key, tries=5, first_at=now - timedelta(hours=3), last_at=now, error=error,
        next_at=now + timedelta(hours=1), set_aside_at=now if is_aside else None,
    )  # fmt: skip


def page(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return unescape(answer.content.decode())


def test_each_kind_is_named_as_people_name_it(grace, reported, settings) -> None:
    settings.DIRECTORY_SOURCE = "https://kaiku:0-p3nsesame@puhuri.example/api?token=1"
    reported()
    job_pk = Job.objects.get().pk
    record_job(job_record(job_id=7, attempt=1))
    lesson = Lesson.objects.create(code="c", language="en", version=1, is_active=True, changed_at=timezone.now())
    link = LessonLink.objects.create(lesson=lesson, position=0, title="t", url="https://docs.example/page")
    alice = User.objects.get(username="alice")
    User.objects.update(email="alice@site.example")
    failed(JUDGEMENT, Job.objects.get(job_id=7).pk)
    failed(REPORT, JobEfficiency.objects.get(job=job_pk).pk)
    failed(PLANNING, alice.pk)
    failed(LINK, link.pk)
    failed(IMPORT, ONLY)
    failed(JUDGEMENT, 999_999)
    failed("of an earlier version", 5)
    shown = page(grace, LIST)
    for named in (
        '<td class="field-of">lumi/7 attempt 1</td>',
        '<td class="field-of">lumi/123456</td>',
        f'<td class="field-of"><a href="/admin/jobs/user/{alice.pk}/change/">account {alice.pk}</a></td>',
        '<td class="field-of"><a href="/support/links/">https://docs.example/page</a></td>',
        '<td class="field-of"><a href="/support/directory/">https://puhuri.example/api</a></td>',
        '<td class="field-of">999999</td>',
        '<td class="field-of">5</td>',
    ):
        assert named in shown
    for word in ("alice", "0-p3nsesame", "token=1"):
        assert word not in shown


def test_a_job_that_the_administrator_may_see_is_a_link(grace) -> None:
    record_job(job_record())
    Job.objects.update(user=User.objects.get(username="grace"))
    row = failed(JUDGEMENT, Job.objects.get().pk)
    link = '<a href="/jobs/lumi/123456/?attempt=0">lumi/123456</a>'
    for path in (LIST, f"{LIST}{row.pk}/change/"):
        assert link in page(grace, path)
    assert grace.get(f"{PAGE}?attempt=0").status_code == 200


@pytest.mark.one_database
def test_a_page_of_many_costs_as_many_queries_as_one_of_few(grace) -> None:
    counts = []
    for job_ids in (range(1, 3), range(3, 41)):
        for job_id in job_ids:
            record_job(job_record(job_id=job_id))
            failed(JUDGEMENT, Job.objects.get(job_id=job_id).pk)
        with CaptureQueriesContext(connection) as queries:
            assert f"lumi/{job_ids[-1]}<" in page(grace, LIST)
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_the_first_and_the_last_time_are_listed_and_no_next_one_of_what_is_set_aside(grace) -> None:
    aside, waiting = failed("a", 1), failed("b", 2, is_aside=False)
    WorkFailure.objects.update(next_at=datetime(2031, 5, 6, 12, tzinfo=timezone.get_current_timezone()))
    shown = page(grace, LIST)
    assert shown.count('<td class="field-first_at nowrap">') == shown.count('<td class="field-last_at nowrap">') == 2
    assert shown.count("2031") == 1
    assert "2031" not in page(grace, f"{LIST}{aside.pk}/change/")
    assert "2031" in page(grace, f"{LIST}{waiting.pk}/change/")


def test_the_page_of_one_has_the_button_too(grace, cast) -> None:
    record_job(job_record())
    row = failed(JUDGEMENT, Job.objects.get().pk)
    shown = page(grace, f"{LIST}{row.pk}/change/")
    assert "lumi/123456" in shown
    assert '<button type="submit" class="button">Try again</button>' in shown
    sent = {"action": "try_again", "_selected_action": row.pk}
    assert f'<input type="hidden" name="_selected_action" value="{row.pk}">' in shown
    assert cast("erin").post(LIST, sent).status_code == 404
    row.refresh_from_db()
    assert row.set_aside_at
    grace.post(LIST, sent)
    row.refresh_from_db()
    assert (row.tries, row.set_aside_at, row.next_at) == (1, None, None)
    entry = AuditEntry.objects.get(actor="grace")
    assert (entry.name, entry.action) == ("judgement lumi/123456", "tried_again")


def test_the_owner_reads_whether_a_report_waits_or_was_given_up(cast) -> None:
    alice = cast("alice")
    record_job(job_record())
    assert MAKING in page(alice, PAGE)
    row = failed(JUDGEMENT, Job.objects.get().pk, is_aside=False)
    waiting = page(alice, PAGE)
    assert NOT_YET in waiting
    assert NOTHING_TO_DO in waiting
    assert MAKING not in waiting
    row.set_aside_at = timezone.now()
    row.save()
    aside = page(alice, PAGE)
    assert f"<h2>{COULD_NOT}</h2>" in aside
    assert "The administrators see why and can have it made again" in aside
    assert NOTHING_TO_DO in aside
    for shown in (waiting, aside):
        assert "struct" not in shown
    try_again(failures())
    assert NOT_YET in page(alice, PAGE)


def test_the_owner_reads_the_same_where_only_the_report_fails(cast) -> None:
    record_job(job_record())
    assert analyse_due(10) == 1
    failed(REPORT, JobEfficiency.objects.get().pk)
    # Another job's trouble is none of this one.
    record_job(job_record(job_id=2))
    alice = cast("alice")
    assert f"<h2>{COULD_NOT}</h2>" in page(alice, PAGE)
    assert MAKING in page(alice, "/jobs/lumi/2/")


def test_the_log_and_the_row_of_a_persons_mail_name_an_account_and_no_person(cast, monkeypatch, caplog) -> None:
    alice = User.objects.get(username="alice")

    def broken(*_: object) -> None:
        raise struct.error("alice's address is alice@site.example")

    monkeypatch.setattr(planning, "plan_person", lambda pk, now: broken())
    monkeypatch.setattr(planning, "people_due", lambda now: [alice.pk])
    with caplog.at_level(logging.WARNING, "jobs.work_queue.services"):
        assert planning.plan_due(10) == 0
    row = WorkFailure.objects.get()
    assert row.error.startswith("struct.error at tests/portal/job/test_failed_work.py:")
    assert caplog.messages == [f"mail to a person account {alice.pk} failed: {row.error}"]


@pytest.mark.browser
@pytest.mark.django_db(transaction=True)
def test_an_administrator_tries_one_again_in_a_browser_that_complains_of_nothing(browser, live_server, cast) -> None:
    record_job(job_record())
    failed(JUDGEMENT, Job.objects.get().pk)
    said: list[str] = []
    texts = {}
    for name, path in (("alice", PAGE), ("grace", LIST)):
        context = browser.new_context(base_url=live_server.url)
        carry_session(context, live_server, cast(name))
        shown = context.new_page()
        shown.on("console", lambda message: said.append(message.text))
        shown.goto(path)
        texts[name] = shown.text_content("main, #content")
        if name == "grace":
            shown.click("th.field-kind a")
            assert "lumi/123456" in shown.text_content(".field-of")
            shown.click("button:text-is('Try again')")
            shown.wait_for_selector(".messagelist:has-text('will be retried now')")
        context.close()
    assert COULD_NOT in texts["alice"]
    assert "lumi/123456" in texts["grace"]
    assert WorkFailure.objects.get().set_aside_at is None
    assert said == []
