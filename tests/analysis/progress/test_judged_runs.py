"""Judgements that rest on what scripts logged: whose runs, how many queries, and points that arrive later."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from math import nan

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from analysis.models import JobEfficiency
from analysis.selectors import due_jobs, logged_runs
from analysis.services import analyse_due
from jobs.experiments.points import Point
from jobs.experiments.selectors import logged_anything
from jobs.experiments.services.experiments import named_experiment
from jobs.experiments.services.following import follow_runs
from jobs.experiments.services.points import LoggedCall, log_calls, sort_points
from jobs.experiments.services.runs import RunChange, StatedJob, start_run
from jobs.models import Job, User
from jobs.services import record_job
from metrics.services import record_node_summary
from tests.payloads import job_record, node_payload

BEGAN = datetime(2026, 11, 20, 10, tzinfo=UTC)  # the job of the sample record runs from 10:00 to 12:00
LATER = BEGAN + timedelta(hours=3)

pytestmark = pytest.mark.django_db


def log(user: User, *points: tuple[int, float, float], name: str = "loss", job: int = 123456, **params: str) -> None:
    """A run in this job with points of (step, seconds since the job's start, value), sorted at once."""
    experiment, _ = named_experiment(user, "vit", BEGAN)
    change = RunChange(params=params)
    run = start_run(user, experiment.pk, BEGAN, change=change, started_at=BEGAN, job=StatedJob(job))
    start_ms = int(BEGAN.timestamp() * 1000)
    made = [Point(name, step, start_ms + round(1000 * at_s), value) for step, at_s, value in points]
    assert log_calls([LoggedCall(user, run.run_id, BEGAN, made)]) == [None]
    follow_runs(10, LATER)
    sort_points(10, LATER)


def lost() -> list[tuple[int, float, float]]:
    """A step a second, a point a minute; the loss is NaN from step 1,800 on."""
    return [(at_s, at_s, nan if at_s >= 1800 else 1.0) for at_s in range(60, 7200, 60)]


def judged() -> JobEfficiency:
    analyse_due(10, LATER)
    return JobEfficiency.objects.get()


@pytest.fixture
def alice() -> User:
    record_job(job_record())
    record_node_summary(node_payload())
    return User.objects.get(username="alice")


def test_points_that_arrive_after_the_judgement_open_the_run_again(alice) -> None:
    assert judged().finding_codes == ""
    assert list(due_jobs(LATER)) == []
    log(alice, *lost())
    assert len(list(due_jobs(LATER))) == 1
    row = judged()
    assert row.finding_codes == " loss_is_nan "
    found = row.findings.get()
    # From 1,800 s to the last point at 7,140 s; 8 GPUs of small-g are 4 GPU-hours an hour.
    assert (found.evidence["step"], found.evidence["nan_s"]) == (1800, 5340)
    assert found.evidence["gpu_hours_since"] == pytest.approx(4 * 5340 / 3600)
    assert list(due_jobs(LATER)) == []


def test_a_run_in_another_job_or_of_another_person_says_nothing_about_this_one(alice) -> None:
    bob = User.objects.create(username="bob")
    log(bob, *lost())
    log(alice, *lost(), job=123457)
    assert judged().finding_codes == ""
    assert logged_runs(Job.objects.get()) == ()


def test_the_throughput_of_a_run_is_stored_with_its_judgement(alice) -> None:
    log(alice, *[(at_s, at_s, 1.0) for at_s in range(60, 7200, 60)], global_batch_size="64")
    row = judged()
    # A step a second of 64 samples.
    assert (row.throughput_unit, row.throughput_per_s) == ("samples", pytest.approx(64.0))


def test_steps_of_an_unknown_batch_are_no_throughput(alice) -> None:
    log(alice, *[(at_s, at_s, 1.0) for at_s in range(60, 7200, 60)], batch_size="64")
    row = judged()
    assert (row.throughput_unit, row.throughput_per_s) == ("", None)


@pytest.mark.one_database
def test_reading_what_was_logged_takes_two_queries_and_none_where_nothing_was(alice) -> None:
    (job,) = Job.objects.annotate(has_logged=logged_anything())
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert logged_runs(job) == ()
    assert len(queries) == 0
    log(alice, *lost())
    log(alice, *lost(), name="accuracy")
    (job,) = Job.objects.annotate(has_logged=logged_anything())
    with CaptureQueriesContext(connection) as queries:
        assert len(logged_runs(job)) == 2
    assert len(queries) == 2
