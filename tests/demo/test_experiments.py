"""The sample experiments: their runs fit the jobs they were in, one ended with its time limit, one turned NaN, one is
lost."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from demo.experiments import sample_experiments
from jobs.experiments.models import ExperimentRun, MetricSeries
from jobs.experiments.status import Status
from jobs.models import User
from jobs.services import record_job
from tests.payloads import job_record

pytestmark = [pytest.mark.django_db, pytest.mark.one_database]

UNTIL = datetime(2026, 11, 22, tzinfo=UTC)


def record(job_id: int, **changes: object) -> None:
    """A job of two hours; those with higher numbers ended earlier."""
    ended_at = UNTIL - timedelta(hours=4 * (job_id % 10) + 1)
    times = {"started_at": (ended_at - timedelta(hours=2)).isoformat(), "ended_at": ended_at.isoformat()}
    record_job(job_record(**{"job_id": job_id} | times | changes))


def test_the_runs_fit_their_jobs_and_tell_the_stories_that_people_know() -> None:
    for job_id in range(1, 7):
        record(job_id, gpus_allocated=8 if job_id % 2 else 4)
    record(11, user_id="bob", state="TIMEOUT")
    record(12, user_id="bob")
    people = [User.objects.get(username=name) for name in ("alice", "bob")]
    assert sample_experiments(people, seed=1, until=UNTIL) == 7
    runs = list(ExperimentRun.objects.order_by("pk"))
    assert [run.status for run in runs].count(Status.FINISHED) == 6
    assert {(run.status, run.is_by_slurm) for run in runs} == {
        (Status.FINISHED, False),
        (Status.KILLED, True),
        (Status.LOST, False),
    }
    for run in runs:
        job = run.run_jobs.get().linked_job if run.run_jobs.exists() else None
        assert job is not None or run.status == Status.LOST
        if job is not None:
            for series in run.series.all():
                assert job.started_at.timestamp() * 1000 <= series.first_ms
                assert series.last_ms <= job.ended_at.timestamp() * 1000
    lost = MetricSeries.objects.exclude(nan_since_step=None)
    assert [(one.name, one.run.name) for one in lost] == [("train/loss", "vit-s-lr1e-2")]
    assert {run.experiment.is_shared for run in runs if run.owner.username == "bob"} == {True}


def test_a_person_without_suitable_jobs_gets_no_experiment() -> None:
    record(1)
    assert sample_experiments([User.objects.create(username="dave")], seed=1, until=UNTIL) == 0
    assert not ExperimentRun.objects.exists()
