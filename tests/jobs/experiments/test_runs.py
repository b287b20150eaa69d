"""Experiments and runs in the database: whose they are, what they log, and how Slurm's record decides about them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import isnan, nan

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from jobs.experiments.models import Artifact, ExperimentRun, MetricSeries, PointBatch, RunJob
from jobs.experiments.points import Point
from jobs.experiments.rules import NameTaken, NoSuchExperiment, NoSuchRun, NotAccepted
from jobs.experiments.selectors import digests_of, series_of, visible_experiments, visible_runs
from jobs.experiments.services.artifacts import StatedFile, keep_upload, state_files
from jobs.experiments.services.experiments import (
    change_experiment,
    delete_experiment,
    make_experiment,
    named_experiment,
)
from jobs.experiments.services.following import follow_runs, note_event
from jobs.experiments.services.points import LoggedCall, log_calls, sort_points
from jobs.experiments.services.runs import RunChange, StatedJob, change_run, delete_run, remove_tag, start_run
from jobs.experiments.status import Reported
from jobs.models import Job, Membership, Project, User
from jobs.queue.models import QueuedJob, QueueReading
from jobs.services import record_job
from tests.payloads import job_record

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
BEGAN = datetime(2026, 11, 20, 11, 40, tzinfo=UTC)  # the job of the sample record runs from 10:00 to 12:00
MS = int(NOW.timestamp() * 1000)

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create(username="alice")


@pytest.fixture
def bob() -> User:
    return User.objects.create(username="bob")


def run_of(user: User, *, job: int | None = 123456, began: datetime = BEGAN, **change: object) -> ExperimentRun:
    experiment, _ = named_experiment(user, "vit", began)
    stated = StatedJob(job) if job else None
    return start_run(user, experiment.pk, began, change=RunChange(**change), started_at=began, job=stated)


def call(user: User, run: ExperimentRun, *values: float, name: str = "loss", at: datetime = NOW) -> LoggedCall:
    """Points a second apart from step 0 on."""
    points = [Point(name, step, MS + 1000 * step, value) for step, value in enumerate(values)]
    return LoggedCall(user, run.run_id, at, points)


# Experiments


def test_an_experiment_is_found_by_its_name_and_made_once(alice: User) -> None:
    first, is_new = named_experiment(alice, " vit ", NOW)
    again, is_new_again = named_experiment(alice, "vit", NOW)
    assert (first.pk, is_new, is_new_again) == (again.pk, True, False)
    with pytest.raises(NameTaken):
        make_experiment(alice, "vit", NOW)


def test_two_people_may_use_the_same_name(alice: User, bob: User) -> None:
    assert make_experiment(alice, "vit", NOW).pk != make_experiment(bob, "vit", NOW).pk


@pytest.mark.parametrize("name", ["", "  ", "x" * 257])
def test_a_name_that_is_none_is_not_accepted(alice: User, name: str) -> None:
    with pytest.raises(NotAccepted, match="name"):
        make_experiment(alice, name, NOW)


def test_only_a_project_of_their_own_can_see_a_persons_experiment(alice: User) -> None:
    Project.objects.create(name="project_2")
    with pytest.raises(NotAccepted, match="project"):
        make_experiment(alice, "vit", NOW, project="project_2")
    with pytest.raises(NotAccepted, match="is_shared"):
        make_experiment(alice, "vit", NOW, is_shared=True)


def test_who_sees_an_experiment(alice: User, bob: User) -> None:
    """alice owns it; bob is a member of its project, carol its PI, dave nobody."""
    carol, dave = (User.objects.create(username=name) for name in ("carol", "dave"))
    project = Project.objects.create(name="project_1")
    for user, role in ((alice, "member"), (bob, "member"), (carol, "pi")):
        Membership.objects.create(user=user, project=project, role=role)
    experiment = make_experiment(alice, "vit", NOW)
    run = run_of(alice)

    def seeing() -> set[str]:
        seen = {user.username for user in (alice, bob, carol, dave) if visible_experiments(user).exists()}
        assert seen == {user.username for user in (alice, bob, carol, dave) if run in visible_runs(user)}
        return seen

    assert seeing() == {"alice"}
    change_experiment(alice, experiment.pk, NOW, project="project_1")
    assert seeing() == {"alice", "carol"}
    change_experiment(alice, experiment.pk, NOW, is_shared=True)
    assert seeing() == {"alice", "bob", "carol"}
    Membership.objects.filter(user=bob).delete()
    assert seeing() == {"alice", "carol"}
    change_experiment(alice, experiment.pk, NOW, project="")
    assert seeing() == {"alice"}


def test_nobody_else_changes_an_experiment_or_starts_a_run_in_it(alice: User, bob: User) -> None:
    experiment = make_experiment(alice, "vit", NOW)
    with pytest.raises(NoSuchExperiment):
        change_experiment(bob, experiment.pk, NOW, name="mine")
    with pytest.raises(NoSuchExperiment):
        start_run(bob, experiment.pk, NOW, change=RunChange())
    with pytest.raises(NoSuchExperiment):
        delete_experiment(bob, experiment.pk)


def test_deleting_an_experiment_deletes_all_of_it(alice: User) -> None:
    run = run_of(alice)
    log_calls([call(alice, run, 0.5)])
    sort_points(10, NOW)
    log_calls([call(alice, run, 0.4)])
    state_files(alice, run.run_id, [StatedFile("/scratch/model.pt")], NOW)
    delete_experiment(alice, run.experiment_id)
    for model in (ExperimentRun, PointBatch, MetricSeries, RunJob, Artifact):
        assert not model.objects.exists()


# What a run logs


def test_points_are_read_before_and_after_they_are_sorted(alice: User) -> None:
    run = run_of(alice)
    assert log_calls([call(alice, run, 0.9, 0.5), call(alice, run, nan, name="acc")]) == [None, None]
    before = series_of(run)
    assert sort_points(10, NOW) == 2
    after = series_of(run)
    assert not PointBatch.objects.exists()
    for found in (before, after):
        assert found["loss"].points.values.tolist() == [0.9, 0.5]
        assert isnan(found["acc"].digest.last_value)
    assert digests_of([run])[run.pk]["loss"].least_value == 0.5


def test_the_digests_of_many_runs_include_what_is_not_sorted_yet(alice: User) -> None:
    first, second = run_of(alice), run_of(alice)
    log_calls([call(alice, first, 0.9), call(alice, second, 0.1)])
    sort_points(10, NOW)
    log_calls([LoggedCall(alice, first.run_id, NOW, [Point("loss", 7, MS + 7000, 0.3)])])
    found = digests_of([first, second])
    assert (found[first.pk]["loss"].count, found[first.pk]["loss"].last_step) == (2, 7)
    assert found[second.pk]["loss"].last_value == 0.1


def test_digests_of_some_names_alone_leave_out_the_others_sorted_or_not(alice: User) -> None:
    run = run_of(alice)
    for name in ("loss", "acc"):
        log_calls([call(alice, run, 0.5, name=name)])
    assert digests_of([run], ["loss"])[run.pk].keys() == {"loss"}
    sort_points(10, NOW)
    assert digests_of([run], ["loss"])[run.pk].keys() == {"loss"}


def test_a_call_for_a_run_of_somebody_else_is_as_for_none_and_stops_no_other(alice: User, bob: User) -> None:
    run = run_of(alice)
    said = log_calls([call(bob, run, 0.5), call(alice, run, 0.5), LoggedCall(alice, "f" * 32, NOW)])
    assert [type(why) for why in said] == [NoSuchRun, type(None), NoSuchRun]
    assert series_of(run)["loss"].digest.count == 1


def test_a_parameter_keeps_its_value_and_a_tag_gets_the_new_one(alice: User) -> None:
    run = run_of(alice, params={"lr": "0.1"}, tags={"note": "first"})
    same = LoggedCall(alice, run.run_id, NOW, params={"lr": "0.1"}, tags={"note": "second"})
    other = LoggedCall(alice, run.run_id, NOW, [Point("loss", 0, MS, 1.0)], params={"lr": "0.2"})
    accepted, refused = log_calls([same, other])
    assert accepted is None
    assert refused is not None
    assert refused.problems == [("params.lr", "has another value already; parameters do not change")]
    run.refresh_from_db()
    assert (run.params, run.tags) == ({"lr": "0.1"}, {"note": "second"})
    assert series_of(run) == {}  # a call is stored as a whole or not at all


def test_names_that_become_one_are_not_accepted_together(alice: User) -> None:
    run = run_of(alice)
    with pytest.raises(NotAccepted) as params:
        change_run(alice, run.run_id, RunChange(params={"a\0b": "1", "c": "2", "a\nb": "3"}), NOW)
    assert params.value.problems == [("params.a�b", "is the name of two, once what cannot be shown is replaced")]
    with pytest.raises(NotAccepted, match=r"tags\.a�b"):
        change_run(alice, run.run_id, RunChange(tags={"a\0b": "1", "a�b": "1"}), NOW)


def test_names_and_values_of_any_text_are_stored_visibly(alice: User) -> None:
    run = run_of(alice, params={"a\0b": "x\ud800"}, name="two\nlines")
    run.refresh_from_db()
    assert run.params == {"a�b": "x�"}
    assert run.name == "two�lines"


def test_metrics_beyond_the_limit_are_counted_and_not_kept(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.experiments.services.points.METRICS_MAX", 2)
    run = run_of(alice)
    log_calls([call(alice, run, 0.1, 0.2, name=name) for name in ("a", "b", "c")])
    sort_points(10, NOW)
    run.refresh_from_db()
    assert sorted(series_of(run)) == ["a", "b"]
    assert run.points_dropped == 2


def test_one_poisoned_call_does_not_stop_the_points_of_others(alice: User) -> None:
    poisoned, sound = run_of(alice), run_of(alice)
    PointBatch.objects.create(run=poisoned, points=b"\xc1", count=1, received_at=NOW)
    log_calls([call(alice, sound, 0.5)])
    assert sort_points(10, NOW) == 1
    assert MetricSeries.objects.filter(run=sound).count() == 1


def test_the_tag_by_which_mlflow_names_a_run_is_its_name(alice: User) -> None:
    run = run_of(alice, tags={"mlflow.runName": " first\n", "a": "1"})
    assert (run.name, run.tags) == ("first", {"a": "1"})
    log_calls([LoggedCall(alice, run.run_id, NOW, tags={"mlflow.runName": "second"})])
    run.refresh_from_db()
    assert (run.name, run.tags) == ("second", {"a": "1"})


def test_a_stated_name_comes_before_that_of_the_tag(alice: User) -> None:
    assert run_of(alice, name="stated", tags={"mlflow.runName": "tagged"}).name == "stated"


def test_a_tag_is_removed_once(alice: User) -> None:
    run = run_of(alice, tags={"note": "x"})
    assert remove_tag(alice, run.run_id, "note", NOW)
    assert not remove_tag(alice, run.run_id, "note", NOW)


def test_an_impossible_end_is_not_accepted(alice: User) -> None:
    run = run_of(alice)
    for ended_at in (BEGAN - timedelta(seconds=1), NOW + timedelta(days=2)):
        with pytest.raises(NotAccepted, match="ended_at"):
            change_run(alice, run.run_id, RunChange(reported=Reported.FINISHED, ended_at=ended_at), NOW)


def test_files_are_paths_and_small_text_is_kept(alice: User) -> None:
    run = run_of(alice)
    state_files(alice, run.run_id, [StatedFile("/scratch/p/model-7.pt", "checkpoint", 7, 10**12)], NOW)
    assert keep_upload(alice, run.run_id, "config.json", b"{}", 2, NOW)
    assert not keep_upload(alice, run.run_id, "image.png", b"\x89PNG\0", 5, NOW)
    assert not keep_upload(alice, run.run_id, "model.pt", None, 10**10, NOW)
    assert [(file.path, file.kind) for file in run.artifacts.order_by("path")] == [
        ("/scratch/p/model-7.pt", "checkpoint"),
        ("config.json", "kept"),
        ("image.png", "discarded"),
        ("model.pt", "discarded"),
    ]
    with pytest.raises(NotAccepted, match="kind"):
        state_files(alice, run.run_id, [StatedFile("/x", "kept")], NOW)


def test_kept_text_of_a_run_is_bounded(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("jobs.experiments.services.artifacts.TEXTS_BYTES_MAX", 10)
    run = run_of(alice)
    assert keep_upload(alice, run.run_id, "a.txt", b"123456", 6, NOW)
    assert not keep_upload(alice, run.run_id, "b.txt", b"12345", 5, NOW)
    assert keep_upload(alice, run.run_id, "a.txt", b"1234567890", 10, NOW)  # in place of the first


def test_deleting_a_run_leaves_the_runs_within_it(alice: User, bob: User) -> None:
    outer = run_of(alice)
    inner = start_run(alice, outer.experiment_id, BEGAN, change=RunChange(), parent=outer.run_id)
    with pytest.raises(NoSuchRun):
        delete_run(bob, outer.run_id)
    delete_run(alice, outer.run_id)
    inner.refresh_from_db()
    assert inner.parent is None


# With Slurm


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
