"""Real Slurm without any hook: its queue as rows, and a logged run that gets its end from squeue and sacct alone."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from jobs.experiments.models import ExperimentRun
from jobs.experiments.services.experiments import named_experiment
from jobs.experiments.services.following import follow_runs
from jobs.experiments.services.runs import RunChange, StatedJob, start_run
from jobs.models import Job, QueuedJob, QueueReading, User
from portal.tasks import run_steps
from tests.processes import wait_until
from tests.slurm.cluster import ACCOUNT, CLUSTER, USER, Cluster

pytestmark = [pytest.mark.slurm, pytest.mark.django_db]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    cluster = Cluster()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def sleep(cluster: Cluster, monkeypatch: pytest.MonkeyPatch, settings) -> Path:
    """A job that sleeps; the portal of this test asks this Slurm."""
    for name in ("PATH", "SLURM_CONF", "MYSQL_UNIX_PORT"):
        monkeypatch.setenv(name, cluster.environment[name])
    settings.QUEUE_CLUSTERS = [CLUSTER]
    script = cluster.top / "sleep.sh"
    script.write_text("#!/bin/bash\nsleep 600\n")
    script.chmod(0o755)
    return script


def listed(job_id: int) -> QueuedJob | None:
    """A job in the queue, read now."""
    run_steps("QUEUE_SECONDS")
    assert QueueReading.objects.get().error == ""
    return QueuedJob.objects.filter(job_id=job_id).first()


def test_what_waits_and_runs_is_read_with_what_it_requests(cluster: Cluster, sleep: Path) -> None:
    name = "two\nlines|1|1|N/A|root|none|small-g"
    running = cluster.submit(sleep, "--gpus=2", "--cpus-per-gpu=7", "--mem-per-gpu=60G", "--time=30", f"-J{name}")
    array = cluster.submit(sleep, "--gpus=1", "--time=10", "--array=1-300:3%2", "--begin=now+1hour")
    wait_until("the job to run", lambda: cluster.state(running) == "RUNNING")
    job = listed(running)
    assert job is not None
    assert (job.state, job.user.username, job.project.name) == ("RUNNING", USER, ACCOUNT)
    # Fourteen threads are seven cores on LUMI.
    assert (job.gpus, job.cores, job.memory_gb, job.time_limit_s) == (2, 7, 120.0, 1800.0)
    assert job.job_name == name.replace("\n", "\ufffd")
    waiting = listed(array)
    assert waiting is not None
    assert (waiting.state, waiting.reason, waiting.task_count, waiting.gpus) == ("PENDING", "BeginTime", 100, 1)
    assert waiting.started_at is None
    assert QueueReading.objects.get().left_out == 0
    cluster.run("scancel", str(array), str(running))
    wait_until("both to end", lambda: not cluster.has_jobs())
    assert listed(running) is None
    assert not QueuedJob.objects.exists()


def test_a_run_whose_job_is_killed_by_its_time_limit_is_killed_without_any_hook(cluster: Cluster, sleep: Path) -> None:
    job_id = cluster.submit(sleep, "--gpus=1", "--time=1")
    wait_until("the job to run", lambda: cluster.state(job_id) == "RUNNING")
    user, _ = User.objects.get_or_create(username=USER)
    # Its script has said nothing for two hours: Slurm alone knows how it goes.
    long_ago = timezone.now() - timedelta(hours=2)
    experiment, _ = named_experiment(user, "vit", long_ago)
    run = start_run(user, experiment.pk, long_ago, change=RunChange(), started_at=long_ago, job=StatedJob(job_id))

    def status() -> str:
        run_steps("QUEUE_SECONDS")
        follow_runs(10, timezone.now())
        return ExperimentRun.objects.get(pk=run.pk).status

    assert status() == "RUNNING"
    # Slurm looks for overdue jobs twice a minute: a limit of one minute ends a job after up to ninety seconds.
    wait_until("Slurm to end the job", lambda: cluster.state(job_id) == "")
    wait_until("the run's end", lambda: status() == "KILLED")
    job = Job.objects.get()
    assert (job.job_id, job.state, job.user, job.gpus_allocated) == (job_id, "TIMEOUT", user, 1)
    run.refresh_from_db()
    assert (run.is_by_slurm, run.ended_at) == (True, job.ended_at)
