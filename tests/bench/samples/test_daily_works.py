"""The daily works of the demo are what its pages show: a pipeline of three, and a work with a flag, through ingest."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from analysis.escalation.selectors import staff_sees
from analysis.escalation.services import escalate
from analysis.models import Flag
from analysis.rollups.services import roll_up_due
from analysis.selectors import due_jobs
from analysis.services import analyse_job
from analysis.works.pipelines import StepRun, pipelines
from bench.samples.daily_works import PIPELINE, PIPELINE_DAYS, UNUSED_DAYS, pipeline_runs, unused_runs
from bench.samples.people import Person
from portal.ingest.body import records
from portal.ingest.services import KINDS, ingest

LEO = Person("leo", "project_465000002", False, "mixed", 3)


@pytest.mark.parametrize("hour", [0, 1, 12, 23])
def test_three_works_follow_one_another_each_night(hour: int) -> None:
    until = datetime(2026, 11, 23, hour, 30, tzinfo=UTC)
    found = list(pipeline_runs(LEO, seed=1, until=until))
    assert all(datetime.fromisoformat(job.record["ended_at"]) < until for job in found)
    steps = [
        StepRun(
            pk=job.record["job_id"],
            work_key=job.record["job_name"],
            eligible_at=datetime.fromisoformat(job.record["eligible_at"]),
            ended_at=datetime.fromisoformat(job.record["ended_at"]),
            is_completed=job.record["state"] == "COMPLETED",
        )
        for job in found
    ]
    (line,) = pipelines(steps)
    assert line.work_keys == tuple(step.name for step in PIPELINE)
    assert (line.passes, line.runs) == (PIPELINE_DAYS, PIPELINE_DAYS * 3)


@pytest.mark.django_db
def test_one_work_has_a_flag_that_support_sees() -> None:
    now = datetime.now(UTC)
    for job in unused_runs(LEO, seed=1, until=now):
        assert not ingest(records(job.to_json()), list(KINDS)).rejected
    for run in list(due_jobs(now)):
        analyse_job(run.pk, now)
    roll_up_due(1000, now)
    for days_ago in range(max(UNUSED_DAYS), -1, -1):
        escalate(now - timedelta(days=days_ago))
    (flag,) = Flag.objects.filter(staff_sees(now), kind=Flag.Kind.WORK)
    assert (flag.user.username, flag.cleared_at) == ("leo", None)
