"""Real Slurm with accounting: comments of people who opted in arrive, 500 in seconds, each at the attempt that it is
about, and nobody else's job changes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest
from django.utils import timezone

from analysis.models import SlurmComment
from jobs.models import Job, Token, User
from jobs.services import record_job
from tests.payloads import job_record
from tests.processes import PATIENCE_S, patience, wait_until
from tests.slurm.cluster import ACCOUNT, CLUSTER, USER, Cluster
from tests.tokens import site_token

pytestmark = pytest.mark.slurm

TASKS = {USER: 252, "news": 252, "mail": 4}
PEOPLE = tuple(TASKS)
"""Two who opted in, and one who did not."""
SECONDS_MAX = 20
TEXTS = [f"kaiku:class=inefficient;util={percent};v=1" for percent in (24, 31, 40)]
SCRIPT = "#!/bin/sh\nsleep ${1:-0}\n"


class Row(NamedTuple):
    """An attempt of a job in accounting."""

    user: str
    state: str
    started_at: datetime
    comment: str


class Submitted(NamedTuple):
    """Jobs with a meaning of their own: an array of each person, one whose comment is not ours, and two that were
    requeued, of one of which the portal knows the first attempt alone."""

    arrays: list[int]
    noted: int
    requeued: int
    requeued_unknown: int


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    made = Cluster()
    try:
        made.start()
        for user in PEOPLE[1:]:
            made.run("sacctmgr", "-iQ", "add", "user", user, f"cluster={CLUSTER}", f"account={ACCOUNT}")
        yield made
    finally:
        made.stop()


def accounted(cluster: Cluster) -> dict[int, Row]:
    """The latest attempt of every allocation, by raw id."""
    return {raw: rows[-1] for raw, rows in attempts(cluster).items()}


def attempts(cluster: Cluster) -> dict[int, list[Row]]:
    """Every attempt of every allocation, by raw id."""
    columns = "--format=JobIDRaw,User,State,Start,AdminComment"
    words = ("sacct", "-XnPa", "--duplicates", "-S", "now-1hours", "-E", "now+2hours", columns)
    found: dict[int, list[Row]] = {}
    for line in cluster.run("env", "TZ=UTC", *words).splitlines():
        raw, user, state, start, comment = line.split("|")
        started = datetime.fromisoformat(start) if start[:1].isdigit() else datetime.max
        found.setdefault(int(raw), []).append(Row(user, state.split()[0], started.replace(tzinfo=UTC), comment))
    return {raw: sorted(rows, key=lambda row: row.started_at) for raw, rows in found.items()}


def submitted(cluster: Cluster) -> Submitted:
    """An array of each person, and the first person's others; they run to their end."""
    script = cluster.top / "job"
    script.write_text(SCRIPT)
    script.chmod(0o755)
    requeued = [cluster.submit(script, "--requeue", arguments=("3",)) for _ in range(2)]
    noted = cluster.submit(script)
    wait_until("the first jobs", lambda: not cluster.has_jobs())
    for job in requeued:
        # One that has ended is requeued too, as long as Slurm remembers it.
        cluster.run("scontrol", "requeue", str(job))
    arrays = [cluster.submit(script, f"--array=1-{tasks}", "--mem=100", user=user) for user, tasks in TASKS.items()]

    def all_ended() -> bool:
        found = [row.state for row in accounted(cluster).values()]
        return len(found) == sum(TASKS.values()) + 3 and set(found) == {"COMPLETED"}

    wait_until("all jobs to end in accounting", all_ended)
    cluster.run("sacctmgr", "-i", "modify", "job", "where", f"jobid={noted}", "set", "admincomment=of a colleague")
    return Submitted(arrays, noted, *requeued)


def judge(found: dict[int, list[Row]], jobs: Submitted) -> None:
    """As the portal stores it: a comment for each job, of those who opted in alone."""
    now = timezone.now()
    for user in PEOPLE:
        User.objects.create(
            username=user, slurm_comments_since=None if user == PEOPLE[2] else now.replace(year=2026, month=1)
        )
    record_job(job_record(job_id=1_000_000, cluster=CLUSTER))
    sample = Job.objects.get()
    ended = {"cluster": CLUSTER, "state": "COMPLETED", "ended_at": now, "changed_at": now, "project": sample.project}
    people = {user.username: user for user in User.objects.all()}
    Job.objects.bulk_create(
        Job(
            job_id=raw,
            attempt=attempt,
            user=people[row.user],
            array_job_id=raw if raw in jobs.arrays else None,
            started_at=row.started_at,
            **ended,
        )
        for raw, rows in found.items()
        for attempt, row in enumerate(rows[:1] if raw == jobs.requeued_unknown else rows)
    )
    own = Job.objects.filter(user__slurm_comments_since__isnull=False)
    SlurmComment.objects.bulk_create(
        SlurmComment(job=job, cluster=CLUSTER, text=TEXTS[(job.job_id + job.attempt) % len(TEXTS)]) for job in own
    )


@pytest.mark.django_db(transaction=True)
def test_comments_of_two_people_arrive_and_nothing_else_changes(
    cluster: Cluster, live_server, settings, tmp_path: Path
) -> None:
    settings.SLURM_COMMENTS = True
    jobs = submitted(cluster)
    before, first_ones = accounted(cluster), attempts(cluster)
    assert [len(first_ones[job]) for job in (jobs.requeued, jobs.requeued_unknown, jobs.noted)] == [2, 2, 1]
    judge(first_ones, jobs)
    token, config = tmp_path / "token", tmp_path / "comments.conf"
    token.touch(0o600)
    token.write_text(site_token(Token.Kind.COMMENTS, "op", cluster=CLUSTER, days=1))
    lines = {"portal_url": live_server.url, "token_file": token, "cluster": CLUSTER, "state_dir": tmp_path / "state"}
    config.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    began = time.monotonic()
    run = [sys.executable, "-m", "collector", "comments", "--config", str(config)]
    done = subprocess.run(run, env=cluster.environment, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    took_s = time.monotonic() - began
    print(f"{took_s:.1f} s: {done.stdout}{done.stderr}")
    assert (done.returncode, done.stderr) == (0, "")
    assert took_s < patience(SECONDS_MAX)
    after = accounted(cluster)
    left_alone = {*jobs.arrays, jobs.noted, jobs.requeued_unknown}
    left_alone |= {raw for raw, row in before.items() if row.user == PEOPLE[2]}
    assert {raw: after[raw] for raw in left_alone} == {raw: before[raw] for raw in left_alone}
    assert after[jobs.noted].comment == "of a colleague"
    written = {raw: row.comment for raw, row in after.items() if raw not in left_alone}
    assert len(written) >= 500
    # Of the requeued one that of its second attempt, in the second row.
    expected = {raw: TEXTS[raw % len(TEXTS)] for raw in written}
    assert written == expected | {jobs.requeued: TEXTS[(jobs.requeued + 1) % len(TEXTS)]}
    found = attempts(cluster)
    assert [found[job][0].comment for job in (jobs.requeued, jobs.requeued_unknown)] == ["", ""]
