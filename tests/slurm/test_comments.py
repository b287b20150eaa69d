"""Real Slurm with accounting: comments of people who opted in arrive, 500 in seconds, and nobody else's job changes."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone

from analysis.models import SlurmComment
from jobs.audit.services import by_command
from jobs.models import Job, User
from jobs.services import record_job
from portal.sign_in.comment_tokens import issue_comment_token
from tests.parts import missing
from tests.payloads import job_record
from tests.processes import wait_until
from tests.slurm.cluster import ACCOUNT, CLUSTER, USER, Cluster, is_possible

pytestmark = pytest.mark.slurm

PEOPLE = (USER, "news", "mail")
"""Two who opted in, and one who did not."""
JOBS, SECONDS_MAX = 750, 20
TEXTS = [f"kaiku:class=inefficient;util={percent};v=1" for percent in (24, 31, 40)]
SUBMIT = "for n in $(seq {jobs}); do sbatch --uid={user} {common} --begin=now+1hour {script}; done"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if not is_possible():
        missing("Slurm (its daemons, MariaDB's and the right to start them)")
    made = Cluster()
    try:
        made.start()
        for user in PEOPLE[1:]:
            made.run("sacctmgr", "-iQ", "add", "user", user, f"cluster={CLUSTER}", f"account={ACCOUNT}")
        yield made
    finally:
        made.stop()


def accounted(cluster: Cluster) -> dict[int, tuple[str, str, str]]:
    """Every allocation: raw id -> user, state, AdminComment."""
    columns = "--format=JobIDRaw,User,State,AdminComment"
    lines = cluster.run("sacct", "-XnPa", "-S", "now-1hours", "-E", "now+2hours", columns).splitlines()
    rows = (line.split("|") for line in lines)
    return {int(raw): (user, state.split()[0], comment) for raw, user, state, comment in rows}


def submitted(cluster: Cluster) -> tuple[int, int]:
    """Many cancelled jobs of all three; the first person's array of three tasks, and one whose comment is not ours."""
    script = cluster.top / "job"
    script.write_text("#!/bin/sh\ntrue\n")
    script.chmod(0o755)
    array, noted = cluster.submit(script, "--array=1-3"), cluster.submit(script)
    wait_until("the array", lambda: not cluster.state(array) and not cluster.state(noted))
    common = f"--account={ACCOUNT} --chdir=/tmp --output=/dev/null --parsable"
    for user in PEOPLE:
        jobs = JOBS // len(PEOPLE)
        cluster.run("bash", "-c", SUBMIT.format(jobs=jobs, user=user, common=common, script=script))
        cluster.run("scancel", "--full", f"--user={user}", "--state=PENDING")

    def all_ended() -> bool:
        found = [state for _, state, _ in accounted(cluster).values()]
        return len(found) >= JOBS + 3 and set(found) <= {"COMPLETED", "CANCELLED"}

    wait_until("all jobs to end in accounting", all_ended, 30)
    cluster.run("sacctmgr", "-i", "modify", "job", "where", f"jobid={noted}", "set", "admincomment=of a colleague")
    return array, noted


def judge(found: dict[int, tuple[str, str, str]], array: int) -> None:
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
    parts = {raw: array for raw in found if raw == array}
    Job.objects.bulk_create(
        Job(job_id=raw, user=people[user], array_job_id=parts.get(raw), **ended) for raw, (user, *_) in found.items()
    )
    own = Job.objects.filter(user__slurm_comments_since__isnull=False)
    SlurmComment.objects.bulk_create(
        SlurmComment(job=job, cluster=CLUSTER, text=TEXTS[job.job_id % len(TEXTS)]) for job in own
    )


@pytest.mark.django_db(transaction=True)
def test_comments_of_two_people_arrive_and_nothing_else_changes(
    cluster: Cluster, live_server, settings, tmp_path: Path
) -> None:
    settings.SLURM_COMMENTS = True
    array, noted = submitted(cluster)
    before = accounted(cluster)
    judge(before, array)
    token, config = tmp_path / "token", tmp_path / "comments.conf"
    token.touch(0o600)
    token.write_text(issue_comment_token("op", cluster=CLUSTER, days=1, now=timezone.now(), by=by_command("test")))
    lines = {"portal_url": live_server.url, "token_file": token, "cluster": CLUSTER, "state_dir": tmp_path / "state"}
    config.write_text("".join(f"{name} = {value}\n" for name, value in lines.items()))
    began = time.monotonic()
    run = [sys.executable, "-m", "collector", "comments", "--config", str(config)]
    done = subprocess.run(run, env=cluster.environment, capture_output=True, text=True, timeout=60, check=False)
    took_s = time.monotonic() - began
    print(f"{took_s:.1f} s: {done.stdout}{done.stderr}")
    assert (done.returncode, done.stderr) == (0, "")
    assert took_s < SECONDS_MAX
    after = accounted(cluster)
    left_alone = {array, noted} | {raw for raw, (user, *_) in before.items() if user == PEOPLE[2]}
    assert {raw: after[raw] for raw in left_alone} == {raw: before[raw] for raw in left_alone}
    assert after[noted][2] == "of a colleague"
    written = {raw: row[2] for raw, row in after.items() if raw not in left_alone}
    assert len(written) >= 500
    assert written == {raw: TEXTS[raw % len(TEXTS)] for raw in written}
