"""Jobs that left the queue without a record: what accounting is asked, and whose runs that ends; sacct is a script."""

from __future__ import annotations

import json
import sys
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.utils import timezone

from jobs.experiments.models import ExperimentRun, RunJob
from jobs.experiments.services.experiments import named_experiment
from jobs.experiments.services.following import follow_runs
from jobs.experiments.services.left_jobs import record_left_jobs
from jobs.experiments.services.runs import RunChange, StatedJob, start_run
from jobs.models import Job, Project, QueuedJob, QueueReading, User
from jobs.services import record_job
from tests.payloads import job_record

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
BEGAN = NOW - timedelta(hours=2)
HEADER = "JobIDRaw JobID User Account State Submit Start End ElapsedRaw ReqTRES AllocTRES NodeList JobName".split()

pytestmark = pytest.mark.django_db


@pytest.fixture
def alice() -> User:
    return User.objects.create(username="alice")


@pytest.fixture
def lumi(settings) -> None:
    """A site that reads one queue, two minutes ago."""
    settings.QUEUE_CLUSTERS = ["lumi"]
    was_read("lumi", NOW - timedelta(minutes=2))


def was_read(cluster: str, at: datetime) -> None:
    QueueReading.objects.update_or_create(cluster=cluster, defaults={"read_at": at, "tried_at": at})


class Accounting:
    """A stand-in for sacct, alone on the PATH, that knows some jobs and writes down what it was asked."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.rows = folder, list[list[str]]()
        self.file = folder / "sacct"
        monkeypatch.setenv("PATH", str(folder))
        self.write()

    def knows(self, job_id: int, state: str = "TIMEOUT", user: str = "alice", end: str = "12:00:00") -> None:
        times = [f"2026-11-20T{clock}" for clock in ("10:00:00", "10:00:00", end)]
        self.rows.append([str(job_id), str(job_id), user, "project_1", state, *times, "7200", "", "", "nid1", "train"])
        self.write()

    def write(self, body: str = "") -> None:
        self.file.write_text(
            f"#!{sys.executable}\nimport json, sys\n"
            f"if '--helpformat' in sys.argv:\n    print({' '.join(HEADER)!r}); sys.exit()\n{body}\n"
            f"open({str(self.folder / 'asked')!r}, 'a').write(json.dumps(sys.argv[1:]) + '\\n')\n"
            "given = dict(a.split('=', 1) for a in sys.argv if '=' in a)\n"
            f"for cells in {[HEADER, *self.rows]!r}:\n"
            "    if cells[0] in ('JobIDRaw', *given['--jobs'].split(',')):\n"
            "        print(given['--delimiter'].join(cells))\n"
        )
        self.file.chmod(0o755)

    @property
    def asked(self) -> list[list[str]]:
        """The jobs that each call asked for."""
        file = self.folder / "asked"
        calls = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
        return [next(a for a in call if a.startswith("--jobs="))[7:].split(",") for call in calls]


@pytest.fixture
def sacct(tmp_path, monkeypatch) -> Accounting:
    return Accounting(tmp_path, monkeypatch)


def run_of(user: User, job_id: int, cluster: str = "", began: datetime = BEGAN) -> ExperimentRun:
    experiment, _ = named_experiment(user, "vit", began)
    stated = StatedJob(job_id, cluster)
    return start_run(user, experiment.pk, began, change=RunChange(), started_at=began, job=stated)


def test_a_run_whose_job_left_the_queue_gets_its_state_from_accounting(alice: User, lumi: None, sacct) -> None:
    sacct.knows(7)
    run = run_of(alice, 7)
    assert record_left_jobs(NOW) == 1
    assert follow_runs(10, NOW) == 1
    run.refresh_from_db()
    assert (run.status, run.is_by_slurm) == ("KILLED", True)
    assert run.run_jobs.get().linked_job == Job.objects.get()
    record_left_jobs(NOW + timedelta(days=1))
    assert sacct.asked == [["7"]]


def test_a_job_that_is_in_the_queue_or_has_a_record_is_not_asked_for(alice: User, lumi: None, sacct) -> None:
    project = Project.objects.create(name="project_1")
    run_of(alice, 7)
    QueuedJob.objects.create(cluster="lumi", job_id=7, user=alice, project=project, state="RUNNING")
    record_job(job_record(job_id=8), NOW)
    run_of(alice, 8)
    follow_runs(10, NOW)
    assert record_left_jobs(NOW) == 0
    assert sacct.asked == []


def test_a_job_that_was_stated_after_the_reading_waits_for_the_next_one(alice: User, lumi: None, sacct) -> None:
    run_of(alice, 7, began=NOW - timedelta(minutes=1))
    record_left_jobs(NOW)
    assert sacct.asked == []
    was_read("lumi", NOW)
    record_left_jobs(NOW)
    assert sacct.asked == [["7"]]


def test_without_a_reading_that_counts_nothing_is_asked(alice: User, lumi: None, sacct, settings) -> None:
    run_of(alice, 7)
    record_left_jobs(NOW + timedelta(minutes=9))  # the reading is eleven minutes old
    settings.QUEUE_CLUSTERS = []
    record_left_jobs(NOW)
    assert sacct.asked == []


def test_the_job_of_somebody_else_is_not_even_stored(lumi: None, sacct) -> None:
    """bob states alice's job: accounting answers that it is hers."""
    bob = User.objects.create(username="bob")
    run = run_of(bob, 7)
    sacct.knows(7, user="alice")
    assert record_left_jobs(NOW) == 0
    follow_runs(10, NOW)
    run.refresh_from_db()
    # bob's run has been silent for two hours, and that is all that is known of it.
    assert (run.status, run.is_by_slurm, Job.objects.count()) == ("LOST", False, 0)


def test_what_accounting_does_not_know_is_asked_for_later_and_later(alice: User, lumi: None, sacct) -> None:
    """At 12:30, then after 1, 2, 4 and 8 minutes: at 12:31, 12:33, 12:37 and 12:45."""
    run_of(alice, 7)
    asked_at = []
    for minute in range(20):
        at = NOW + timedelta(minutes=minute)
        was_read("lumi", at)
        before = len(sacct.asked)
        record_left_jobs(at)
        asked_at += [minute] * (len(sacct.asked) - before)
    assert asked_at == [0, 1, 3, 7, 15]


def test_accounting_that_does_not_answer_was_not_asked(alice: User, lumi: None, sacct) -> None:
    run_of(alice, 7)
    sacct.write("sys.exit(1)")
    assert record_left_jobs(NOW) == 0
    assert RunJob.objects.get().ask_at is None
    sacct.knows(7)
    assert record_left_jobs(NOW) == 1


def test_a_running_job_and_a_row_that_cannot_be_stored_stop_no_other(alice: User, lumi: None, sacct) -> None:
    """Job 8 is known as bob's, so that accounting contradicts it; 9 runs; 10 is not a run at all."""
    record_job(job_record(job_id=8, user_id="bob"), NOW)
    for job_id in (7, 8, 9, 10, 11):
        run_of(alice, job_id)
    for job_id in (7, 8, 11):
        sacct.knows(job_id)
    sacct.knows(9, state="RUNNING", end="Unknown")
    sacct.rows.append(["10", "10", "alice"])
    sacct.knows(12)
    assert record_left_jobs(NOW) == 2
    assert set(Job.objects.filter(user=alice).values_list("job_id", flat=True)) == {7, 11}


def test_one_person_who_states_many_jobs_delays_nobody(alice: User, lumi: None, sacct) -> None:
    """200 jobs a round, at most 20 of one person: those of bob, who came last, are among the first."""
    bob = User.objects.create(username="bob")
    for job_id in range(100, 130):
        run_of(alice, job_id)
    run_of(bob, 7)
    record_left_jobs(NOW)
    record_left_jobs(NOW)
    assert [len(asked) for asked in sacct.asked] == [21, 10]
    assert "7" in sacct.asked[0]


def test_a_job_without_a_cluster_is_asked_for_in_each_and_one_with_it_there(alice: User, lumi, sacct, settings) -> None:
    settings.QUEUE_CLUSTERS = ["lumi", "other"]
    was_read("other", NOW)
    run_of(alice, 7)
    run_of(alice, 8, cluster="other")
    run_of(alice, 9, cluster="elsewhere")
    record_left_jobs(NOW)
    assert sacct.asked == [["7"], ["7", "8"]]


def test_the_command_reads_what_left_the_queue_as_the_worker_does(alice: User, lumi: None, sacct, settings) -> None:
    """squeue lists nothing now, and accounting knows the end of the job."""
    squeue = sacct.folder / "squeue"
    squeue.write_text(f"#!{sys.executable}\n")
    squeue.chmod(0o755)
    now = timezone.now()
    run = run_of(alice, 7, began=now - timedelta(hours=2))
    times = [f"{now - timedelta(hours=hours):%Y-%m-%dT%H:%M:%S}" for hours in (3, 3, 1)]
    sacct.rows.append(["7", "7", "alice", "project_1", "OUT_OF_MEMORY", *times, "7200", "", "", "nid1", "train"])
    sacct.write()
    call_command("read_queue", stdout=StringIO())
    follow_runs(10, now)
    run.refresh_from_db()
    assert (run.status, run.is_by_slurm) == ("FAILED", True)
