"""Storing queues: each reading replaces the rows of its cluster by what differs, and a failure keeps them."""

from __future__ import annotations

import json
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from jobs.models import Membership, Project, QueuedJob, QueueReading, User
from jobs.queue import services
from jobs.queue.selectors import fresh_readings, states_in_queue, visible_queue
from jobs.queue.services import note_failure, read_queue, read_queues, remove_old_queues, store_queue
from jobs.queue.squeue import queue_of
from jobs.selectors import reach_of
from jobs.slurm_client import SlurmClientError
from portal.expiry import expire
from tests.jobs.queue.listing import pending, row, sample
from tests.steps import ran

NOW = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)

pytestmark = pytest.mark.django_db


def stored(text: str, cluster: str = "lumi", at: datetime = NOW) -> str:
    return str(store_queue(cluster, queue_of(text, cluster=cluster), at))


def squeue(folder: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> Path:
    """A stand-in for squeue, alone on the PATH; `MARK` is the mark of this call, `row` prints one job."""
    file, asked = folder / "squeue", folder / "asked"
    cells = row("\t").rstrip("\t\n").split("\t")
    file.write_text(
        f"#!{sys.executable}\nimport json, os, sys\n"
        f"open({str(asked)!r}, 'w').write(json.dumps([sys.argv[1:], dict(os.environ)]))\n"
        "MARK = sys.argv[-1].removeprefix('--Format=').split(',')[0].removeprefix('JobID:')\n"
        f"def row(job_id, name='train'):\n    cells = [str(job_id), *{cells[1:-1]!r}, name]\n"
        "    print(''.join(cell + MARK for cell in cells))\n"
        f"{body}\n"
    )
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))
    return asked


# Replacing


def test_a_queue_becomes_rows_of_people_and_projects() -> None:
    assert stored(sample()) == "18 jobs: 18 new, 0 changed, 0 gone; 0 rows left out"
    typed = QueuedJob.objects.get(job_id=2)
    assert (typed.user.username, typed.project.name, typed.state) == ("alice", "project_465000001", "RUNNING")
    assert (typed.gpus, typed.cores, typed.node_count, typed.time_limit_s) == (16, 8, 2, 93_660.0)
    # Being in the queue makes nobody a member, and nobody can sign in with such an account.
    assert not Membership.objects.exists()
    assert not User.objects.get(username="alice").has_usable_password()


def test_the_next_reading_writes_only_what_differs() -> None:
    stored(row(JobID="1") + pending(JobID="2") + row(JobID="3"))
    again = NOW + timedelta(minutes=2)
    with CaptureQueriesContext(connection) as queries:
        said = stored(row(JobID="1") + row(JobID="2") + pending(JobID="4"), at=again)
    assert said == "3 jobs: 1 new, 1 changed, 1 gone; 0 rows left out"
    assert dict(QueuedJob.objects.values_list("job_id", "state")) == {1: "RUNNING", 2: "RUNNING", 4: "PENDING"}
    (inserted,) = (query["sql"] for query in queries if query["sql"].startswith('INSERT INTO "jobs_queuedjob"'))
    assert inserted.count("small-g") == 2
    assert QueueReading.objects.get().read_at == again


def test_the_same_queue_again_writes_no_job() -> None:
    stored(sample())
    with CaptureQueriesContext(connection) as queries:
        assert stored(sample(), at=NOW + timedelta(minutes=2)) == "18 jobs: 0 new, 0 changed, 0 gone; 0 rows left out"
    written = [query["sql"] for query in queries if query["sql"].startswith(("INSERT", "UPDATE", "DELETE"))]
    assert [sql for sql in written if "queuedjob" in sql] == []


@pytest.mark.postgresql
def test_a_large_queue_costs_as_many_statements_as_a_small_one() -> None:

    def statements(count: int, at: datetime) -> int:
        with CaptureQueriesContext(connection) as queries:
            stored("".join(row(JobID=str(1 + number)) for number in range(count)), at=at)
        return len(queries)

    statements(1, NOW)
    few = statements(2, NOW + timedelta(minutes=2))
    assert statements(900, NOW + timedelta(minutes=4)) == few


def test_another_cluster_has_jobs_with_the_same_numbers() -> None:
    stored(row(JobID="1") + row(JobID="2"))
    stored(row(JobID="1", UserName="bob"), cluster="other")
    stored(pending(JobID="2"), at=NOW + timedelta(minutes=2))
    rows = QueuedJob.objects.order_by("cluster", "job_id").values_list("cluster", "job_id", "user__username", "state")
    assert list(rows) == [("lumi", 2, "alice", "PENDING"), ("other", 1, "bob", "RUNNING")]


def test_an_older_listing_changes_nothing() -> None:
    """Two hosts ask at 12:30 and 12:31, and the first answer comes last."""
    stored(row(JobID="2"), at=NOW + timedelta(minutes=1))
    assert stored(row(JobID="1")) == "1 jobs: 0 new, 0 changed, 0 gone; 0 rows left out"
    assert QueuedJob.objects.get().job_id == 2
    note_failure("lumi", "too late", NOW)
    assert QueueReading.objects.get().error == ""


def test_an_empty_queue_empties_the_rows() -> None:
    stored(sample())
    assert stored("", at=NOW + timedelta(minutes=2)) == "0 jobs: 0 new, 0 changed, 18 gone; 0 rows left out"


def test_rows_that_were_left_out_are_counted() -> None:
    stored(row() + row(JobID="8", UserName="1003"))
    assert QueueReading.objects.get().left_out == 1


@pytest.mark.postgresql
@pytest.mark.django_db(transaction=True)
def test_two_readings_at_once_end_as_the_later_one() -> None:
    """Each of eight threads stores the same hundred jobs and one of its own, listed a second after the one before."""

    def read(number: int) -> None:
        text = "".join(row(JobID=str(job_id)) for job_id in range(1, 101)) + pending(JobID=str(1000 + number))
        try:
            stored(text, at=NOW + timedelta(seconds=number))
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(read, range(8)))
    assert sorted(QueuedJob.objects.values_list("job_id", flat=True)) == [*range(1, 101), 1007]
    assert QueueReading.objects.get().read_at == NOW + timedelta(seconds=7)


# Asking squeue


def test_squeue_is_asked_for_everybody_and_nothing_that_is_not_needed(tmp_path, monkeypatch) -> None:
    for name in ("SQUEUE_FORMAT2", "SQUEUE_STATES", "SQUEUE_ARRAY", "SLURM_TIME_FORMAT", "SLURM_CLUSTERS"):
        monkeypatch.setenv(name, "x")
    asked = squeue(tmp_path, monkeypatch, "row(7, 'a|b\\n8')")
    change, _ = read_queue("lumi")
    assert (change.listed, change.new) == (1, 1)
    assert QueuedJob.objects.get().job_name == "a|b\ufffd8"
    arguments, environment = json.loads(asked.read_text())
    assert arguments[:3] == ["--clusters=lumi", "--all", "--noheader"]
    assert not [name for name in environment if name.startswith("SQUEUE_")]
    assert not {"SLURM_TIME_FORMAT", "SLURM_CLUSTERS"} & environment.keys()
    assert (environment["TZ"], environment["SLURM_BITSTR_LEN"]) == ("UTC", "0")


def test_two_calls_never_share_a_mark(tmp_path, monkeypatch) -> None:
    asked = squeue(tmp_path, monkeypatch, "row(7)")
    formats = []
    for _ in range(2):
        read_queue("lumi")
        formats.append(json.loads(asked.read_text())[0][-1])
    assert formats[0] != formats[1]


def test_a_failed_reading_keeps_the_rows_and_states_why(tmp_path, monkeypatch) -> None:
    stored(row(JobID="1"), at=timezone.now() - timedelta(minutes=2))
    before = QueueReading.objects.get()
    squeue(tmp_path, monkeypatch, "sys.stderr.write('slurm_load_jobs error: Unable to contact\\x1b'); sys.exit(1)")
    with pytest.raises(SlurmClientError):
        read_queue("lumi")
    reading = QueueReading.objects.get()
    assert reading.error == "squeue ended with status 1: slurm_load_jobs error: Unable to contact\ufffd"
    assert reading.read_at == before.read_at < reading.tried_at
    assert QueuedJob.objects.get().job_id == 1
    squeue(tmp_path, monkeypatch, "row(2)")
    read_queue("lumi")
    assert QueueReading.objects.get().error == ""
    assert QueuedJob.objects.get().job_id == 2


def test_every_configured_queue_is_read_although_one_fails(tmp_path, monkeypatch, settings) -> None:
    settings.QUEUE_CLUSTERS = ["broken", "lumi"]
    squeue(tmp_path, monkeypatch, "sys.exit('--clusters=broken' in sys.argv) if 'broken' in sys.argv[1] else row(7)")
    assert read_queues(settings.QUEUE_CLUSTERS, timezone.now()) == 1
    read = dict(QueueReading.objects.values_list("cluster", "error"))
    assert read == {"broken": "squeue ended with status 1: no message", "lumi": ""}
    assert ran("read_queue") == 1
    assert QueuedJob.objects.get().cluster == "lumi"


def test_without_squeue_the_reading_says_so(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_queues(["lumi"], timezone.now()) == 0
    assert QueueReading.objects.get().error == "squeue cannot be started: No such file or directory"


# Old readings


def test_a_job_counts_as_queued_while_its_queue_was_read_lately(settings) -> None:
    """Ten minutes, or three intervals: with one of 300 s fifteen minutes."""
    stored(row(JobID="7"))
    alice = User.objects.get()
    for interval_s, minutes in ((120, 10), (300, 15)):
        settings.QUEUE_SECONDS = interval_s
        for seconds, states in ((0, ["RUNNING"]), (1, [])):
            later = NOW + timedelta(minutes=minutes, seconds=seconds)
            assert list(states_in_queue([(alice.pk, "lumi", 7)], later).values()) == states
    assert fresh_readings(NOW) == {"lumi": NOW}


def test_the_state_of_a_job_is_its_owners_alone_and_an_empty_cluster_is_any() -> None:
    stored(row(JobID="7") + pending(JobID="8", UserName="bob"))
    alice, bob = (User.objects.get(username=name).pk for name in ("alice", "bob"))
    keys = [(alice, "", 7), (alice, "other", 7), (alice, "lumi", 8), (bob, "lumi", 8), (bob, "", 7)]
    assert states_in_queue(keys, NOW) == {(alice, "", 7): "RUNNING", (bob, "lumi", 8): "PENDING"}


def test_jobs_of_a_queue_that_is_no_longer_read_are_deleted_after_a_day() -> None:
    now = timezone.now()
    stored(row(JobID="1"), at=now - timedelta(hours=25))
    stored(row(JobID="1"), cluster="other", at=now - timedelta(hours=23))
    (outcome,) = (found for found in expire(now) if "queues" in found.kind.name)
    assert str(outcome) == "queues that are no longer read: 1 job deleted, kept for 1 day"
    assert QueuedJob.objects.get().cluster == QueueReading.objects.get().cluster == "other"


def test_jobs_that_cannot_be_read_for_a_day_are_deleted_and_the_reason_stays() -> None:
    now = timezone.now()
    stored(row(JobID="1"), at=now - timedelta(hours=25))
    note_failure("lumi", "squeue did not answer", now)
    assert sum(remove_old_queues(now - timedelta(days=1))) == 1
    assert QueueReading.objects.get().error == "squeue did not answer"


# Access


def test_a_person_sees_own_jobs_and_those_of_led_projects() -> None:
    """alice and bob are members of project_1, carol is its PI, dave nobody; bob has a job elsewhere too."""
    stored(
        row(JobID="1", Account="project_1")
        + row(JobID="2", UserName="bob", Account="project_1")
        + row(JobID="3", UserName="bob", Account="project_2")
    )
    project = Project.objects.get(name="project_1")
    people = {name: User.objects.get_or_create(username=name)[0] for name in ("alice", "bob", "carol", "dave")}
    for name, role in (("alice", "member"), ("bob", "member"), ("carol", "pi")):
        Membership.objects.create(user=people[name], project=project, role=role)
    seen = {name: set(visible_queue(reach_of(user)).values_list("job_id", flat=True)) for name, user in people.items()}
    assert seen == {"alice": {1}, "bob": {2, 3}, "carol": {1, 2}, "dave": set()}


def test_work_that_failed_is_named_by_its_cluster() -> None:
    stored("")
    assert services.reading_name(QueueReading.objects.get().pk) == "lumi"
