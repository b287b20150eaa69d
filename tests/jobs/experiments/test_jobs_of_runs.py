"""Runs and their Slurm jobs: which are linked, and who says how a run went."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.experiments.models import ExperimentRun
from jobs.experiments.points import Point
from jobs.experiments.rules import NotAccepted
from jobs.experiments.services.following import follow_runs, note_event
from jobs.experiments.services.points import LoggedCall, log_calls, sort_points
from jobs.experiments.services.runs import RunChange, StatedJob, change_run
from jobs.experiments.status import Reported
from jobs.models import Job, Project, User
from jobs.queue.models import QueuedJob, QueueReading
from jobs.services import record_job
from tests.jobs.experiments.logging_people import BEGAN, NOW, call, run_of
from tests.payloads import job_record

pytestmark = pytest.mark.django_db


def uploaded(user: User, first: datetime, **change: object) -> ExperimentRun:
    """A run that is logged at NOW of points a minute apart from then on, 100 steps each."""
    run = run_of(user, began=NOW, **change)
    first_ms = int(first.timestamp() * 1000)
    points = [Point("loss", 100 * place, first_ms + 60_000 * place, 1.0) for place in range(5)]
    log_calls([LoggedCall(user, run.run_id, NOW, points)])
    return run


def test_a_run_that_is_logged_after_its_job_starts_with_its_first_point_and_ends_with_the_job(alice: User) -> None:
    first = datetime(2026, 11, 20, 10, 30, tzinfo=UTC)
    run = uploaded(alice, first)
    record_job(job_record())
    change_run(alice, run.run_id, RunChange(reported=Reported.FINISHED), NOW)
    follow_runs(10, NOW)
    run.refresh_from_db()
    assert (run.started_at, run.ended_at) == (NOW, NOW)  # nothing is sorted yet
    sort_points(10, NOW)
    run.refresh_from_db()
    assert (run.started_at, run.ended_at) == (first, datetime(2026, 11, 20, 12, tzinfo=UTC))
    assert run.status == "FINISHED"


def test_an_end_between_the_first_point_and_the_stated_start_is_accepted(alice: User) -> None:
    first, ended_at = NOW - timedelta(hours=1), NOW - timedelta(minutes=55)
    run = uploaded(alice, first)
    with pytest.raises(NotAccepted, match="ended_at"):
        change_run(alice, run.run_id, RunChange(reported=Reported.FINISHED, ended_at=first - timedelta(seconds=1)), NOW)
    change_run(alice, run.run_id, RunChange(reported=Reported.FINISHED, ended_at=ended_at), NOW)
    run.refresh_from_db()
    assert run.ended_at == run.started_at == NOW
    sort_points(10, NOW)
    run.refresh_from_db()
    assert (run.started_at, run.ended_at) == (first, ended_at)


def test_a_run_of_a_clock_that_is_ahead_ends_no_earlier_than_it_starts(alice: User) -> None:
    run = run_of(alice, job=None, began=NOW + timedelta(hours=5))
    change_run(alice, run.run_id, RunChange(reported=Reported.FINISHED), NOW)
    follow_runs(10, NOW)
    run.refresh_from_db()
    assert run.ended_at == run.started_at


def test_a_failure_that_the_script_reported_stands_where_the_job_completed(alice: User) -> None:
    failed, killed, open_ = run_of(alice), run_of(alice), run_of(alice)
    for run, reported in ((failed, Reported.FAILED), (killed, Reported.KILLED)):
        change_run(alice, run.run_id, RunChange(reported=reported), BEGAN + timedelta(minutes=19))
    record_job(job_record(state="COMPLETED"))
    assert follow_runs(10, NOW) == 3
    found = ExperimentRun.objects.in_bulk([failed.pk, killed.pk, open_.pk])
    assert [(found[run.pk].status, found[run.pk].is_by_slurm) for run in (failed, killed, open_)] == [
        ("FAILED", False),
        ("KILLED", False),
        ("FINISHED", True),
    ]


def test_a_run_is_linked_to_the_record_of_its_job_and_gets_its_state(alice: User) -> None:
    run = run_of(alice)
    assert follow_runs(10, NOW) == 0
    record_job(job_record(state="TIMEOUT"), NOW)
    assert follow_runs(10, NOW) == 1
    run.refresh_from_db()
    job = Job.objects.get()
    assert run.run_jobs.get().linked_job == job
    assert (run.status, run.is_by_slurm, run.ended_at) == ("KILLED", True, job.ended_at)
    assert follow_runs(10, NOW) == 0


def test_a_job_of_somebody_else_is_never_linked(bob: User) -> None:
    run = run_of(bob)
    record_job(job_record(state="TIMEOUT"), NOW)  # alice's
    follow_runs(10, NOW)
    run.refresh_from_db()
    assert run.run_jobs.get().linked_job is None
    assert run.status == "RUNNING"


def test_a_record_that_was_there_first_is_linked_too(alice: User) -> None:
    record_job(job_record(), NOW)
    run = run_of(alice)
    follow_runs(10, NOW)
    run.refresh_from_db()
    assert (run.status, run.is_by_slurm) == ("FINISHED", True)


def test_the_record_of_a_job_that_ended_is_judged_again_with_its_run(alice: User) -> None:
    record_job(job_record(), NOW)
    before = Job.objects.get().revision
    run = run_of(alice)
    follow_runs(10, NOW)
    linked = Job.objects.get().revision
    assert linked == before + 1
    log_calls([call(alice, run, 0.5)])
    sort_points(10, NOW)
    assert Job.objects.get().revision == linked + 1
    follow_runs(10, NOW)
    assert Job.objects.get().revision == linked + 1


def test_a_later_record_of_the_same_job_decides_again(alice: User) -> None:
    run = run_of(alice)
    record_job(job_record(state="FAILED"), NOW)
    follow_runs(10, NOW)
    record_job(job_record(state="OUT_OF_MEMORY"), NOW)
    record_job(job_record(state="TIMEOUT"), NOW)
    follow_runs(10, NOW)
    run.refresh_from_db()
    assert run.status == "KILLED"


def test_the_attempt_that_ran_while_the_script_reported_is_linked(alice: User) -> None:
    """Requeued at 11:00, started again at 11:10; the run began at 11:15, so it is of the second attempt."""
    run = run_of(alice, began=datetime(2026, 11, 20, 11, 15, tzinfo=UTC))
    record_job(job_record(state="REQUEUED", ended_at="2026-11-20T11:00:00Z", walltime_used_s=3600.0), NOW)
    follow_runs(10, NOW)
    record_job(job_record(attempt=1, started_at="2026-11-20T11:10:00Z", walltime_used_s=3000.0), NOW)
    follow_runs(10, NOW)
    run.refresh_from_db()
    linked = [row.linked_job.attempt for row in run.run_jobs.all() if row.linked_job]
    assert 1 in linked
    assert run.status == "FINISHED"
    assert not run.run_jobs.filter(linked_job=None).exists()


def test_a_run_resumed_in_another_job_has_both_and_follows_the_later(alice: User) -> None:
    run = run_of(alice)
    record_job(job_record(state="TIMEOUT"), NOW)
    follow_runs(10, NOW)
    resumed_at = NOW + timedelta(minutes=30)
    change_run(alice, run.run_id, RunChange(reported=Reported.RUNNING), resumed_at, StatedJob(123457))
    times = {"started_at": "2026-11-20T12:50:00Z", "ended_at": "2026-11-20T14:00:00Z", "walltime_used_s": 4200.0}
    record_job(job_record(job_id=123457, **times), NOW + timedelta(hours=2))
    follow_runs(10, NOW + timedelta(hours=2))
    run.refresh_from_db()
    assert [row.job_id for row in run.run_jobs.order_by("stated_at")] == [123456, 123457]
    assert (run.status, run.ended_at) == ("FINISHED", datetime(2026, 11, 20, 14, tzinfo=UTC))


def test_a_silent_run_is_lost_and_comes_back_with_a_word(alice: User) -> None:
    run = run_of(alice, job=None)
    later = BEGAN + timedelta(minutes=61)
    assert follow_runs(10, later) == 1
    run.refresh_from_db()
    assert run.status == "LOST"
    assert follow_runs(10, later) == 0
    log_calls([call(alice, run, 0.5, at=later)])
    follow_runs(10, later)
    run.refresh_from_db()
    assert run.status == "RUNNING"


def queued(alice: User, state: str, read_at: datetime, job_id: int = 123456) -> None:
    """A queue, read then, that has one job of alice's."""
    project, _ = Project.objects.get_or_create(name="project_1")
    shown = {"user": alice, "project": project, "state": state}
    QueuedJob.objects.update_or_create(cluster="lumi", job_id=job_id, defaults=shown)
    QueueReading.objects.update_or_create(cluster="lumi", defaults={"read_at": read_at, "tried_at": read_at})


def test_a_silent_run_whose_job_is_in_the_queue_is_running(alice: User) -> None:
    run, later = run_of(alice), BEGAN + timedelta(hours=9)
    queued(alice, "RUNNING", later - timedelta(minutes=10))
    assert follow_runs(10, later) == 0
    run.refresh_from_db()
    assert run.status == "RUNNING"


def test_a_queue_that_was_read_long_ago_keeps_no_run_running_and_a_new_reading_brings_it_back(alice: User) -> None:
    run, later = run_of(alice), BEGAN + timedelta(hours=9)
    queued(alice, "RUNNING", later - timedelta(minutes=10, seconds=1))
    assert follow_runs(10, later) == 1
    run.refresh_from_db()
    assert run.status == "LOST"
    queued(alice, "RUNNING", later)
    assert follow_runs(10, later) == 1
    run.refresh_from_db()
    assert run.status == "RUNNING"


def test_many_silent_runs_in_the_queue_cost_as_many_queries_as_few(alice: User) -> None:
    later = BEGAN + timedelta(hours=9)

    def queries(numbers: range) -> int:
        for number in numbers:
            run_of(alice, job=number)
            queued(alice, "RUNNING", later, job_id=number)
        with CaptureQueriesContext(connection) as found:
            assert follow_runs(10, later) == 0
        return len(found)

    assert queries(range(1, 2)) == queries(range(2, 12))


def test_a_webhook_ends_the_runs_of_its_user_alone_and_the_record_decides_later(alice: User, bob: User) -> None:
    mine, other = run_of(alice), run_of(bob)
    assert note_event("alice", "lumi", 123456, "FAILED", NOW) == 1
    mine.refresh_from_db()
    other.refresh_from_db()
    assert (mine.status, mine.ended_at, other.status) == ("FAILED", NOW, "RUNNING")
    record_job(job_record(state="TIMEOUT"), NOW)
    follow_runs(10, NOW)
    mine.refresh_from_db()
    assert mine.status == "KILLED"


def ended_by(alice: User, run: ExperimentRun) -> dict[str, int]:
    """How many runs an event of each of two clusters ends, that of the other one first."""
    return {cluster: note_event("alice", cluster, 123456, "COMPLETED", NOW) for cluster in ("mahti", "lumi")}


def test_an_event_of_another_cluster_ends_no_run_that_stated_none(alice: User) -> None:
    """Until her job is known somewhere, an event of any cluster may be about it."""
    run = run_of(alice)
    assert ended_by(alice, run) == {"mahti": 1, "lumi": 1}
    queued(alice, "RUNNING", NOW)
    assert ended_by(alice, run) == {"mahti": 0, "lumi": 1}
    QueuedJob.objects.all().delete()
    record_job(job_record())
    assert ended_by(alice, run) == {"mahti": 0, "lumi": 1}
    follow_runs(10, NOW)
    assert run.run_jobs.get().cluster == "lumi"
    assert ended_by(alice, run) == {"mahti": 0, "lumi": 1}


def test_a_job_that_ended_before_the_run_began_is_not_the_one_of_an_event(alice: User, bob: User) -> None:
    """Nor is that of somebody else."""
    run = run_of(alice, began=datetime(2026, 11, 20, 12, 10, tzinfo=UTC))
    record_job(job_record())
    record_job(job_record(user_id="bob", cluster="puhti"))
    assert note_event("alice", "mahti", 123456, "COMPLETED", NOW) == 1
    run.refresh_from_db()
    assert run.status == "FINISHED"


@pytest.mark.parametrize("change", [{"tags": {"slurm.job_id": "123456"}}, {"name": "123456"}])
def test_a_tag_or_an_all_digit_name_states_the_job(alice: User, change: dict[str, object]) -> None:
    run = run_of(alice, job=None, **change)
    record_job(job_record(), NOW)
    follow_runs(10, NOW)
    assert run.run_jobs.get().linked_job is not None
