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
from demo.daily_works import PIPELINE, PIPELINE_DAYS, UNUSED_DAYS, pipeline_runs, unused_runs
from demo.generate import sample_jobs
from demo.people import Person
from demo.scaling_study import scaling_study
from jobs.hardware import partition_of
from jobs.sbatch import shape_of, walltime_s
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


def test_the_options_of_every_sample_job_agree_with_its_record() -> None:
    """Also where a work sets its own run times: the limit and the memory are those that the script requests."""
    until = datetime(2026, 11, 23, 12, tzinfo=UTC)
    daily = [*pipeline_runs(LEO, seed=1, until=until), *unused_runs(LEO, seed=1, until=until)]
    jobs = [*daily, *scaling_study(LEO, seed=1, until=until), *sample_jobs(seed=1, jobs=320, until=until)]
    sweep = {(job.record["request"]["--time"], job.record["request"]["--mem-per-gpu"]) for job in daily[-9:]}
    assert sweep == {("08:00:00", "60G")}, "eight hours are recorded; 8 x 60 GB are the 480 GB of a node"
    for job in jobs:
        record = job.record
        request, partition = record["request"], partition_of("lumi", record["partition"])
        assert walltime_s(request["--time"]) == record["walltime_requested_s"], record["job_name"]
        given = shape_of(request, partition)
        assert given is not None
        assert given.memory_gb == pytest.approx(record["memory_requested_gb"]), record["job_name"]


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
