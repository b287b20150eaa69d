"""The System page: what an administrator should look at, since when, and what to do."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, timedelta

import pytest
from django.utils import timezone

from analysis.early.selectors import WORD
from analysis.escalation import services as escalation
from analysis.models import ClosedMonth, ExportBatch, ExportDue
from analysis.outcomes import services as outcomes
from analysis.rollups import services as rollups
from analysis.services import JUDGEMENT, analyse_due
from analysis.waiting.selectors import CHECK
from education.services.links import LINK
from jobs.experiments.services.following import FOLLOWING
from jobs.experiments.services.points import SORTING
from jobs.imports.services import IMPORT
from jobs.models import DirectoryImport, Process, QueueReading, Tally, WorkFailure
from jobs.queue.services import READING, note_failure
from jobs.services import record_job
from jobs.tallies.kinds import COLLECTOR_FAILURES, MESSAGES, STEP_FAILURES, STEP_TIMES
from jobs.tallies.services import add
from portal.months import MONTHS
from portal.steps import all_steps
from portal.steps.step import Step
from portal.system.concerns import STEP_LATE_S, STEPS_MISSED, concerns
from portal.system.state import system_state
from portal.system.work_names import COUNTED, FAILED
from reports.early.services.mailing import EARLY_MAIL
from reports.mail.services.planning import PLANNING
from reports.mail.services.summaries import SUMMARY
from reports.models import Delivery
from reports.performance.targets.address import Folder
from reports.performance.targets.faults import Fault
from reports.performance.targets.services.sweep import EXPORT
from reports.selectors import REPORT
from reports.webhooks.services.planning import WEBHOOK_WORDS
from tests.payloads import job_record

pytestmark = pytest.mark.django_db


@pytest.fixture
def now() -> datetime:
    return timezone.now()


@pytest.fixture
def worker(now: datetime) -> Process:
    return Process.objects.create(name="uan01/abc/1 2 3", kind="worker", version="1.0.0", seen_at=now)


def page(cast) -> str:
    answer = cast("grace").get("/system/")
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", answer.content.decode()))


def titles(cast) -> list[str]:
    return [each.title for each in cast("grace").get("/system/").context["concerns"]]


def test_a_portal_that_works_says_so(cast, worker: Process) -> None:
    assert "Every component works. Nothing is late or failed." in page(cast)
    assert "uan01 1.0.0 1" in page(cast)


def test_a_portal_without_a_worker_names_what_to_do(cast) -> None:
    assert titles(cast) == ["Worker: never seen, or not for a day"]
    assert "or check its log. Nothing is lost: due work waits." in page(cast)


def test_work_is_late_after_its_limit(cast, worker: Process, now: datetime) -> None:
    ended = now - timedelta(minutes=29)
    record_job(job_record(job_id=1, ended_at=ended, started_at=ended - timedelta(hours=1)), now=ended)
    assert titles(cast) == []
    ended = now - timedelta(minutes=31)
    record_job(job_record(job_id=2, ended_at=ended, started_at=ended - timedelta(hours=1)), now=ended)
    (title,) = titles(cast)
    assert title.startswith("2 ended jobs wait for their analysis, the oldest for 31 min")


def test_the_kinds_of_work_are_named_by_what_is_counted(cast, worker: Process, now: datetime) -> None:
    WorkFailure.objects.create(kind="judgement", key=1, tries=5, first_at=now, last_at=now, set_aside_at=now)
    said = page(cast)
    for name in ("Ended jobs to analyse 0", "Reports to make 0", "Messages to send 0", "Runs to export 0"):
        assert name in said
    assert "Job analysis set aside 1" in said
    assert titles(cast) == ["1 job without analysis, set aside after repeated failures"]
    assert "judge" not in said.lower()


@pytest.mark.parametrize(
    ("kind", "title"),
    [
        ("judgement", "2 jobs without analysis, set aside after repeated failures"),
        ("report", "2 reports set aside after repeated failures"),
        ("unheard of", "2 pieces of work (unheard of) set aside after repeated failures"),
    ],
)
def test_each_kind_of_failed_work_has_a_title(cast, worker: Process, now: datetime, kind: str, title: str) -> None:
    for key in (1, 2):
        WorkFailure.objects.create(kind=kind, key=key, tries=5, first_at=now, last_at=now, set_aside_at=now)
    assert titles(cast) == [title]


def test_all_work_that_can_fail_has_a_name_of_its_own() -> None:
    kinds = {
        *(escalation.OF_PEOPLE, escalation.OF_PROJECTS, outcomes.SETTLE, CHECK),
        *(kind.work for kind in MONTHS),
        *(rollups.ROLL_UP, IMPORT, SUMMARY, PLANNING, LINK, REPORT, JUDGEMENT, SORTING, FOLLOWING),
        *(READING, EXPORT, WORD, EARLY_MAIL, WEBHOOK_WORDS),
    }
    assert kinds == set(FAILED)
    assert kinds - {PLANNING} == set(COUNTED)


def test_the_names_of_failed_work_are_shown_in_full(cast, worker: Process, now: datetime) -> None:
    for kind in ("month of the policy export", "outcome of advice", "roll-up"):
        for key in (1, 2):
            WorkFailure.objects.create(kind=kind, key=key, tries=5, first_at=now, last_at=now, set_aside_at=now)
    assert set(titles(cast)) == {
        "2 months of the policy export set aside after repeated failures",
        "2 people without new outcomes of advice, set aside after repeated failures",
        "2 projects without new daily sums, set aside after repeated failures",
    }
    assert "Monthly figures of the policy export set aside 2" in page(cast)


@pytest.mark.parametrize("step", [step for step in all_steps.STEPS if not step.needs], ids=lambda step: step.name)
def test_each_step_is_late_after_some_of_its_periods(worker: Process, now: datetime, step: Step) -> None:
    add(*(STEP_TIMES.of(1.0, each.name) for each in all_steps.STEPS))
    own = Tally.objects.filter(labels__contains=f'"{step.name}"')
    late = timedelta(seconds=STEPS_MISSED * step.period_s + STEP_LATE_S)
    own.update(last_at=now - late)
    assert concerns(system_state(now)) == []
    own.update(last_at=now - late - timedelta(seconds=1))
    (found,) = concerns(system_state(now))
    assert (found.title.partition(": ")[2], found.since) == (step.title, now - late - timedelta(seconds=1))
    worker.delete()
    assert [each.title for each in concerns(system_state(now))] == ["Worker: never seen, or not for a day"]


@pytest.mark.parametrize(("hours", "expected"), [(23, []), (25, ["1 month of practices failing for 1 d 01 h"])])
def test_what_is_always_tried_again_is_named_after_a_day(
    worker: Process, now: datetime, hours: int, expected: list[str]
) -> None:
    first = now - timedelta(hours=hours)
    WorkFailure.objects.create(kind="month of practices", key=202610, tries=9, first_at=first, last_at=now)
    found = [each.title for each in concerns(system_state(now))]
    assert found == expected


@pytest.mark.parametrize(
    ("day", "closed_site", "closed_policy", "expected"),
    [
        # October ended at midnight of the site's calendar; 14 days later is 15 November.
        (14, False, False, []),
        (16, False, False, ["The figures of the site for October 2026 are not closed"]),
        (
            16,
            True,
            False,
            [
                "The figures of the policy export for October 2026 are not closed",
                "The figures of rows for other sites for October 2026 are not closed",
            ],
        ),
        (16, True, True, []),
    ],
)
def test_a_month_is_late_two_weeks_after_its_end(
    db, day: int, closed_site: bool, closed_policy: bool, expected: list[str]
) -> None:
    at, october = datetime(2026, 11, day, 12, tzinfo=UTC), date(2026, 10, 1)
    record_job(
        job_record(job_id=1, started_at="2026-10-15T10:00:00+00:00", ended_at="2026-10-15T12:00:00+00:00"), now=at
    )
    analyse_due(10, at)
    rollups.roll_up_due(10, at)
    if closed_site:
        ClosedMonth.objects.create(kind="site", first_day=october, figures={"total": {"name": ""}}, closed_at=at)
    for kind in ("policy", "other_sites") if closed_policy else ():
        ClosedMonth.objects.create(kind=kind, figures=[], first_day=october, closed_at=at)
    found = [each.title for each in concerns(system_state(at)) if "figures" in each.title]
    assert found == expected


def test_what_failed_is_counted_by_kind_with_its_first_time(cast, worker: Process, now: datetime) -> None:
    first = now - timedelta(hours=5)
    for key, aside in enumerate((first, now, None)):
        WorkFailure.objects.create(
            kind="report", key=key, tries=5, first_at=aside or now, last_at=now, set_aside_at=aside
        )
    assert titles(cast) == ["2 reports set aside after repeated failures"]
    (concern,) = cast("grace").get("/system/").context["concerns"]
    assert (concern.since, concern.url) == (first, "/admin/jobs/workfailure/")


def test_failures_of_the_last_day_are_named(cast, worker: Process) -> None:
    add(MESSAGES.of("failed"), STEP_FAILURES.of("deliver"), COLLECTOR_FAILURES.of("lumi", "<b>no GPU</b>", times=3))
    assert titles(cast) == [
        "Background work ended with an error: Mail",
        "Messages failed permanently within a day",
    ]
    assert "&lt;b&gt;no GPU&lt;/b&gt; lumi" in page(cast)


def test_silent_nodes_and_jobs_without_summaries_are_listed(cast, worker: Process, now: datetime) -> None:
    ended = now - timedelta(hours=3)
    record = job_record(nodes=["nid005123", "nid005124"], node_count=2, ended_at=ended, started_at=ended)
    record_job(record, now=ended)
    analyse_due(10, now)
    (title,) = titles(cast)
    assert title == "2 nodes silent: no summary for their latest jobs"
    said = page(cast)
    assert "Silent nodes 2" in said
    assert "1 to 6 hours ago 1 0" in said
    assert "alice" not in said
    assert "project_4" not in said
    assert "123456" not in said


def test_a_directory_that_is_not_imported_is_named(cast, worker: Process, now: datetime, settings) -> None:
    settings.DIRECTORY_SOURCE, settings.DIRECTORY_SECONDS = "people.csv", 900
    assert titles(cast) == ["The directory is not imported"]
    DirectoryImport.objects.create(asked="people.csv", source="csv", began_at=now - timedelta(minutes=61))
    DirectoryImport.objects.create(asked="people.csv", source="csv", began_at=now, error="no such file")
    assert titles(cast) == ["The directory is not imported"]
    assert "no such file" in page(cast)
    DirectoryImport.objects.create(asked="people.csv", source="csv", began_at=now - timedelta(minutes=59))
    assert titles(cast) == []


def test_a_queue_that_is_not_read_is_named_with_the_reason(cast, worker: Process, now: datetime, settings) -> None:
    settings.QUEUE_CLUSTERS = ["lumi"]
    assert titles(cast) == ["The queue of lumi is not read"]
    reading = QueueReading.objects.create(cluster="lumi", read_at=now - timedelta(minutes=9), tried_at=now)
    assert titles(cast) == []
    QueueReading.objects.filter(pk=reading.pk).update(read_at=now - timedelta(minutes=11))
    note_failure("lumi", "squeue cannot be started: No such file or directory", now)
    assert titles(cast) == ["The queue of lumi is not read"]
    assert "The last try failed: squeue cannot be started: No such file or directory." in page(cast)


def test_a_target_that_takes_nothing_is_named_with_what_to_do(cast, worker: Process, now: datetime, settings) -> None:
    batch = ExportBatch.objects.create(opened_at=now, fault=Fault.FULL.name, failed_since=now)
    ExportDue.objects.create(job_id=1, noted_at=now - timedelta(minutes=119), batch=batch)
    assert titles(cast) == []
    settings.EXPORT_TARGET = Folder("/data/export")
    assert titles(cast) == ["The target of the export takes nothing: no space is left"]
    assert "Free space there, or raise the quota. Nothing is lost" in page(cast)
    ExportDue.objects.update(noted_at=now - timedelta(minutes=121))
    assert titles(cast)[0] == "1 run waits to be exported, the oldest for 2 h 01 min"


def test_two_versions_at_work_are_named(cast, worker: Process, now: datetime) -> None:
    Process.objects.create(name="uan02/abc/1 2 3", kind="ingest", version="0.9.0", seen_at=now)
    assert titles(cast) == ["Several versions run: 0.9.0, 1.0.0"]


def test_messages_that_are_due_for_an_hour_are_late(cast, worker: Process, reported, now: datetime) -> None:
    reported(1)
    user = cast("alice").get("/").wsgi_request.user
    Delivery.objects.create(user=user, created_at=now, due_at=now - timedelta(minutes=61))
    assert titles(cast) == ["1 message waits to be sent, the oldest for 1 h 01 min"]


def test_only_administrators_find_it_in_the_navigation(cast) -> None:
    assert 'href="/system/"' in cast("grace").get("/about/").content.decode()
    assert 'href="/system/"' not in cast("erin").get("/about/").content.decode()
