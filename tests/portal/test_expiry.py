"""What is kept how long: each kind to its day, for ever with 0, in batches, and whatever fails or is killed."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.apps import apps
from django.contrib.admin.models import CHANGE, LogEntry
from django.core.management import CommandError, call_command
from django.db import OperationalError

from analysis.services import analyse_job
from jobs.models import (
    AuditEntry,
    DeviceSignIn,
    DirectoryImport,
    Job,
    JobOpening,
    JobShare,
    QueuedJob,
    QueueReading,
    User,
    WorkFailure,
)
from jobs.services import record_job, record_opening, share_job
from jobs.work_queue.services import Work, attempt_each
from metrics.models import NodeSummary, RawWindow, RunningNode
from metrics.selectors import run_metrics
from metrics.services import record_node_summary, record_raw_window
from portal import expiry
from portal.celery import application
from portal.steps.step import NIGHTLY
from portal.tasks import beat_schedule
from reports.models import Delivery, Report, StoredPdf, Webhook, WebhookDelivery
from reports.selectors import due_efficiencies
from reports.services.publishing import publish
from tests.payloads import decoded, interim, job_record, node_payload, raw_payload
from tests.steps import ran

pytestmark = pytest.mark.django_db(transaction=True)

SETTINGS = ("RAW_DAYS", "SERIES_DAYS", "PDF_DAYS", "MAIL_DAYS", "RUN_DAYS", "LOG_DAYS")
SECOND = timedelta(seconds=1)


def make_run(job_id: int, ended_at: datetime, **record: object) -> Job:
    """A run of two hours that was measured, judged and reported in the minute of its end."""
    times = {"started_at": (ended_at - timedelta(hours=2)).isoformat(), "ended_at": ended_at.isoformat()}
    record_job(job_record(job_id=job_id, **times, **record), ended_at)
    record_node_summary(node_payload([80.0, 80.0, *[0.0] * 6], job_id=job_id, **times), ended_at)
    job = Job.objects.get(job_id=job_id)
    analyse_job(job.pk, ended_at)
    for pk in due_efficiencies().values_list("pk", flat=True):
        publish(pk, ended_at)
    return job


def removed(now: datetime) -> Counter[str]:
    """How much was removed under each setting."""
    found: Counter[str] = Counter()
    for outcome in expiry.expire(now):
        found[outcome.kind.setting] += outcome.removed
    return found


def job_ids() -> list[int]:
    return sorted(Job.objects.values_list("job_id", flat=True))


def test_the_days_are_those_that_the_site_was_promised(settings) -> None:
    assert [getattr(settings, name) for name in SETTINGS] == [7, 400, 30, 90, 1100, 400]
    assert settings.RAW_ON_PAGE is False


def test_runs_go_1100_days_after_their_end_and_not_on_that_day(now: datetime) -> None:
    # 1,100 days before the 20th of November 2026, 12:30 (2024 has a 29th of February).
    boundary = datetime(2023, 11, 16, 12, 30, tzinfo=UTC)
    assert now == datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
    make_run(1, boundary - SECOND)
    make_run(2, boundary)
    make_run(3, now - timedelta(hours=1))
    assert removed(now)["RUN_DAYS"] == 1
    assert job_ids() == [2, 3]
    assert set(NodeSummary.objects.values_list("job_id", flat=True)) == {2, 3}


def test_with_a_run_goes_everything_that_was_made_of_it(now: datetime, settings) -> None:
    settings.RAW_DAYS = settings.SERIES_DAYS = settings.LOG_DAYS = settings.PDF_DAYS = 0
    old, young = make_run(1, now - timedelta(days=1101)), make_run(2, now - timedelta(days=1))
    reader = User.objects.create(username="carol")
    for job in (old, young):
        record_opening(job, reader, JobOpening.Role.PI, now)
        share_job(job, days=7, note="", now=now)
        record_raw_window(raw_payload(job_id=job.job_id), now)
        StoredPdf.objects.create(report=job.report, content=b"%PDF", asked_at=now)
        delivery = Delivery.objects.create(user=job.user, created_at=job.ended_at, due_at=job.ended_at)
        Report.objects.filter(job=job).update(delivery=delivery)
        attempt_each(Work("judgement", lambda key: 1 // 0), [[job.pk]], now)
    rows = {model.__name__: model.objects.count() for model in models_of_runs()}
    assert removed(now)["RUN_DAYS"] == 1
    assert {model.__name__: model.objects.count() for model in models_of_runs()} == {
        name: count // 2 for name, count in rows.items()
    }
    assert (rows["NodeSummary"], rows["Delivery"], rows["WorkFailure"], rows["FindingRow"] > 0) == (2, 2, 2, True)
    assert User.objects.filter(username="alice").exists()


OF_NO_RUN = ("User", "Project", "Membership", "SweepMark", "SilentNode", "Tally", "Process", "AuditEntry", "RollUpDue")
OF_NO_RUN += ("Flag", "SupportCase", "CaseEvent", "ShareRequest", "HelpLetter", "Notice", "AdviceDue", "AdviceDay")
OF_NO_RUN += ("PolicyRow", "Token", "ClosedMonth", "WaitRange", "DeviceSignIn")
OF_NO_RUN += ("ElsewhereMonth",)


def models_of_runs() -> list[type]:
    """The tables that have as many rows for each run; what is counted and the audit log have days of their own."""
    packages = ("jobs", "metrics", "analysis", "reports")
    models = [model for model in apps.get_models() if model._meta.app_label in packages and model.objects.exists()]
    return [model for model in models if model.__name__ not in OF_NO_RUN]


def test_what_nobody_knows_the_run_of_goes_with_the_time_of_its_measurements(now: datetime) -> None:
    for job_id, age in ((1, timedelta(days=1100, seconds=1)), (2, timedelta(days=1100))):
        record_node_summary(node_payload(job_id=job_id), now - age)
    assert removed(now)["RUN_DAYS"] == 1
    assert NodeSummary.objects.get().job_id == 2


def test_a_run_that_never_ended_goes_with_its_last_change(now: datetime) -> None:
    for job_id, age in ((1, timedelta(days=1100, seconds=1)), (2, timedelta(days=1099))):
        record_job(job_record(job_id=job_id, state="RUNNING", ended_at=None, walltime_used_s=None), now - age)
    assert removed(now)["RUN_DAYS"] == 1
    assert job_ids() == [2]


def test_the_other_kinds_go_after_their_days_and_not_on_the_last(now: datetime, settings, tmp_path: Path) -> None:
    settings.EMAIL_FILE_PATH = tmp_path
    job, reader = make_run(1, now - timedelta(hours=1)), User.objects.create(username="carol")
    for late in (SECOND, timedelta(0)):
        record_raw_window(raw_payload(job_id=2 if late else 3), now - timedelta(days=7) - late)
        record_node_summary(decoded(interim(job_id=4 if late else 5)), now - timedelta(days=4) - late)
        at = now - timedelta(days=400) - late
        role = JobOpening.Role.PI if late else JobOpening.Role.SUPPORT
        JobOpening.objects.create(job=job, user=reader, role=role, first_at=at, last_at=at)
        JobShare.objects.create(job=job, shared_at=at, expires_at=at)
        DirectoryImport.objects.create(asked="slurm", began_at=at)
        AuditEntry.objects.create(at=at, actor="grace", name="bob")
        entry = LogEntry.objects.create(user=reader, object_repr="x", action_flag=CHANGE)
        LogEntry.objects.filter(pk=entry.pk).update(action_time=at)
        over = now - timedelta(days=1) - late
        codes = {"device_digest": str(late), "user_digest": str(late), "interval_s": 5}
        DeviceSignIn.objects.create(**codes, created_at=over, expires_at=over)
        QueueReading.objects.create(cluster=f"c{late.seconds}", read_at=over, tried_at=over)
        waiting = {"user": reader, "project": job.project, "state": "PENDING"}
        QueuedJob.objects.create(cluster=f"c{late.seconds}", job_id=1, **waiting)
        hook = Webhook.objects.create(owner=reader, name=str(late), created_at=now, since=now)
        created_at = now - timedelta(days=30) - late
        WebhookDelivery.objects.create(webhook=hook, created_at=created_at, due_at=created_at)
        letter = tmp_path / f"{late.seconds}.eml"
        letter.write_text("Subject: a job")
        os.utime(letter, times=((now - timedelta(days=90) - late).timestamp(),) * 2)
    StoredPdf.objects.create(report=job.report, content=b"%PDF", asked_at=now - timedelta(days=30))
    assert removed(now) == {
        **{"RAW_DAYS": 1, "SERIES_DAYS": 0, "PDF_DAYS": 0, "MAIL_DAYS": 1, "RUN_DAYS": 0},
        **{"LOG_DAYS": 5, "DEVICE_SIGN_IN_DAYS": 1, "QUEUE_DAYS": 1, "RUNNING_DAYS": 1, "WEBHOOK_DAYS": 1},
    }
    assert (RawWindow.objects.get().job_id, [file.name for file in tmp_path.iterdir()]) == (3, ["0.eml"])
    for model in (
        JobOpening,
        JobShare,
        DirectoryImport,
        LogEntry,
        AuditEntry,
        DeviceSignIn,
        WebhookDelivery,
        QueuedJob,
        QueueReading,
        RunningNode,
    ):
        assert model.objects.count() == 1, model
    assert removed(now + SECOND)["PDF_DAYS"] == 1


def test_zero_days_are_for_ever(now: datetime, settings, tmp_path: Path) -> None:
    settings.EMAIL_FILE_PATH = tmp_path
    (tmp_path / "1.eml").write_text("Subject: a job")
    for name in SETTINGS:
        setattr(settings, name, 0)
    job = make_run(1, now)
    record_raw_window(raw_payload(), now)
    record_opening(job, User.objects.create(username="carol"), JobOpening.Role.PI, now)
    before = {model: model.objects.count() for model in models_of_runs()}
    outcomes = expiry.expire(now + timedelta(days=20_000))
    assert [(outcome.removed, outcome.is_all) for outcome in outcomes] == [(0, True)] * 12
    assert str(outcomes[0]) == "raw samples: 0 windows deleted, kept for ever"
    assert {model: model.objects.count() for model in models_of_runs()} == before
    assert run_metrics(("lumi", 1, 0)).series.length > 0
    assert [*tmp_path.iterdir()] != []


def test_what_is_left_when_the_time_is_over_goes_the_next_time(now: datetime, monkeypatch) -> None:
    monkeypatch.setattr("jobs.expiry.services.RUNS_TOGETHER", 2)
    for job_id in range(1, 6):
        make_run(job_id, now - timedelta(days=1200))
    seen = []
    for _ in range(4):
        outcome = {outcome.kind.name: outcome for outcome in expiry.expire(now, 0)}["runs"]
        seen.append((outcome.removed, outcome.is_all))
    assert seen == [(2, False), (2, False), (1, False), (0, True)]


@pytest.fixture
def broken_runs(monkeypatch) -> None:
    """Runs that cannot be removed, between two kinds that can."""

    def fail(before: datetime) -> Iterator[int]:
        yield 3
        raise OperationalError("somebody@users.example is away")

    kinds = [
        expiry.Kind(kind.name, kind.unit, kind.setting, fail if kind.name == "runs" else kind.remove)
        for kind in expiry.KINDS
    ]
    monkeypatch.setattr(expiry, "KINDS", kinds)


def test_a_kind_that_fails_stops_no_other(broken_runs, now: datetime, capsys, settings) -> None:
    record_raw_window(raw_payload(), now - timedelta(days=300))
    DirectoryImport.objects.create(asked="slurm", began_at=now - timedelta(days=2000))
    with pytest.raises(CommandError, match="the next run tries again"):
        call_command("expire")
    assert capsys.readouterr().out.splitlines() == [
        "raw samples: 1 window deleted, kept for 7 days",
        "use over time: 0 nodes deleted, kept for 400 days",
        "PDFs: 0 PDFs deleted, kept for 30 days",
        "text of mail: 0 messages deleted, kept for 90 days",
        "runs: 3 runs deleted, kept for 1,100 days; stopped by OperationalError",
        "predictions: 0 predictions deleted, kept for 1,100 days",
        "logged runs: 0 logged runs deleted, kept for 1,100 days",
        "views and logs: 1 record deleted, kept for 400 days",
        "sign-ins of programs: 0 codes deleted, kept for 1 day",
        "recent use of runs that no longer send: 0 nodes deleted, kept for 4 days",
        "deliveries of webhooks: 0 posts deleted, kept for 30 days",
        "queues that are no longer read: 0 jobs deleted, kept for 1 day",
    ]
    assert ran("expire") is None


def test_the_beat_removes_once_a_day() -> None:
    record_raw_window(raw_payload(), datetime.now(UTC) - timedelta(days=8))
    entry = beat_schedule()[NIGHTLY]
    application.tasks[entry["task"]](*entry["args"])
    assert not RawWindow.objects.exists()
    assert (entry["schedule"].hour, entry["schedule"].minute) == ({3}, {17})


def test_a_crash_in_the_middle_of_a_run_leaves_it_whole(now: datetime, monkeypatch) -> None:
    make_run(1, now - timedelta(days=1200))
    monkeypatch.setattr(expiry, "forget_runs", lambda runs: 1 // 0)
    assert isinstance([outcome.error for outcome in expiry.expire(now)][4], ZeroDivisionError)
    assert (job_ids(), NodeSummary.objects.count()) == ([1], 1)
    monkeypatch.undo()
    assert removed(now)["RUN_DAYS"] == 1
    assert not WorkFailure.objects.exists()
