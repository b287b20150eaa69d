"""`kaiku` from end to end: the real file, the real portal, and jobs that were measured and judged."""

from __future__ import annotations

import csv
import io
import json
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from jobs.models import User
from jobs.services import record_job
from jobs.tokens.services import issue_token
from tests.cli.programs import built, person_of, ran
from tests.payloads import job_record

RUN_S = 7200


@pytest.fixture(scope="module")
def kaiku(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("built"))


def times(hours_ago: float) -> dict[str, object]:
    ended_at = timezone.now() - timedelta(hours=hours_ago)
    started_at = ended_at - timedelta(seconds=RUN_S)
    return {"started_at": started_at.isoformat(), "ended_at": ended_at.isoformat(), "walltime_used_s": RUN_S}


@pytest.fixture
def environ(live_server, cast, reported, tmp_path: Path) -> dict[str, str]:
    """Alice at a login node, with two runs of one work on eight GPUs, of which two were used, and a cancelled job."""
    reported(1, job_name="train_v1", **times(100))
    reported(2, job_name="train_v2", **times(30))
    record_job(
        job_record(
            job_id=3, job_name="\x1b[2Jnext", state="CANCELLED", started_at=None, gpus_allocated=0, walltime_used_s=0,
            ended_at=(timezone.now() - timedelta(hours=40)).isoformat(),
        )
    )  # fmt: skip
    secret = issue_token(User.objects.get(username="alice"), name="kaiku", days=30, now=timezone.now())
    return person_of(tmp_path) | {"KAIKU_URL": live_server.url, "KAIKU_TOKEN": secret, "COLUMNS": "80"}


@pytest.mark.django_db(transaction=True)
def test_every_command_with_real_jobs(live_server, environ, kaiku, tmp_path: Path) -> None:
    status, said, _ = ran(kaiku, environ)
    lines = said.splitlines()
    assert (status, len(lines) <= 12) == (0, True)
    assert lines[0].startswith("lumi/2 · train_v2 · completed")
    # 2 of 8 GPUs at 88 % are 22 % of two hours on a whole node, 8 GPU-hours as they are billed.
    assert lines[2] == "Inefficient  ██░░░░░░░░ 22.0\u00a0% GPU use · 6.24 of 8.00\u00a0GPU-hours unused"
    assert "  --gpus-per-node=8 → --gpus-per-node=2" in lines
    assert lines[-1] == f"Full report: {live_server.url}/jobs/lumi/2/"

    status, said, _ = ran(kaiku, environ, "job", "2")
    assert (status, said.splitlines()[0]) == (0, "Kaiku: Job 2, train_v2")
    assert said.splitlines()[-1] == f"{live_server.url}/jobs/lumi/2/"
    assert json.loads(ran(kaiku, environ, "job", "lumi/1", "--json")[1])["job"]["job_id"] == 1
    assert "before it got any GPU" in ran(kaiku, environ, "job", "lumi/3")[1]
    assert ran(kaiku, environ, "job", "lumi/4")[0] == 1

    rows = list(csv.DictReader(io.StringIO(ran(kaiku, environ, "history", "--csv")[1])))
    assert [(row["job_id"], row["class"]) for row in rows] == [("2", "INEFFICIENT"), ("3", ""), ("1", "INEFFICIENT")]
    status, said, _ = ran(kaiku, environ, "history", "--worst", "--class", "inefficient", "--work", "train_v1")
    assert (status, "2 jobs; 12.5 of 16.0 GPU-hours unused" in said.replace("\u00a0", " ")) == (0, True)
    assert "\x1b" not in ran(kaiku, environ, "history")[1]
    said = ran(kaiku, environ, "history", "--by-work", "--csv", "--days", "9", "--work", "train")[1]
    (work,) = list(csv.DictReader(io.StringIO(said)))
    # Two runs of 8 GPU-hours, 22 % used: 3.52 of 16.
    assert (work["name"], work["jobs"], work["gpu_hours"], work["used_gpu_hours"]) == ("train_v2", "2", "16", "3.52")

    status, said, _ = ran(kaiku, environ, "compare", "1", "lumi/2")
    assert (status, said.splitlines()[1].split()) == (0, ["Name", "train_v1", "train_v2"])
    status, said, _ = ran(kaiku, environ, "scale", "train_v2")
    assert (status, said.splitlines()[0]) == (0, "train_v2, 2 runs")
    assert "  --gpus-per-node=8 → --gpus-per-node=2" in said

    status, said, _ = ran(kaiku, environ, "insights")
    assert (status, said.splitlines()[0]) == (
        0,
        "2 runs in the last 90 days, without short runs and those that the system ended.",
    )
    assert "     --gpus-per-node=8 → --gpus-per-node=2" in said.splitlines()
    assert "- 2 of 2 runs: Some GPUs stayed idle." in said.splitlines()

    table = tmp_path / "runs.jsonl"
    assert ran(kaiku, environ, "export", "-o", str(table))[0] == 0
    runs = [json.loads(line) for line in table.read_text().splitlines()]
    assert [(run["job_id"], run["gpu_hours"]) for run in runs] == [(1, 8.0), (3, None), (2, 8.0)]
    assert ran(kaiku, environ, "export", "-o", str(table))[0] == 2
    assert json.loads(ran(kaiku, environ, "export", "2", "--format", "learning")[1])["schema"] == "kaiku-learning/1"

    named = tmp_path / "report.pdf"
    assert ran(kaiku, environ, "job", "lumi/2", "--pdf", str(named))[0] == 0
    assert named.read_bytes().startswith(b"%PDF-")
    piped = subprocess.run(f"{kaiku} history | head -1", shell=True, env=environ, capture_output=True, check=True)
    assert (piped.stdout.startswith(b"JOB  NAME"), piped.stderr) == (True, b"")

    # Of a cluster that the site's profile does not describe.
    record_job(job_record(cluster="elsewhere", job_id=4))
    assert json.loads(ran(kaiku, environ, "job", "4", "--json")[1])["job"]["cluster"] == "elsewhere"

    # Without the portal there is what was read before, and how old it is.
    status, said, _ = ran(kaiku, environ, "last", "--offline")
    assert (status, [line for line in said.splitlines() if line][:-1]) == (0, [line for line in lines if line])
    assert said.splitlines()[-1] == "as it was less than a minute ago"


@pytest.mark.django_db(transaction=True)
def test_a_person_without_jobs(live_server, cast, kaiku, tmp_path: Path) -> None:
    cast("dave")
    secret = issue_token(User.objects.get(username="dave"), name="kaiku", days=30, now=timezone.now())
    environ = person_of(tmp_path) | {"KAIKU_URL": live_server.url, "KAIKU_TOKEN": secret}
    status, _, why = ran(kaiku, environ)
    assert (status, len(why.splitlines())) == (1, 1)
    assert ran(kaiku, environ, "history")[:2] == (0, "No jobs in the last 90 days\n")
    assert ran(kaiku, environ, "scale", "train")[0] == 1
