"""`kaiku check`, `trial` and `elsewhere` from end to end: the real file, the real portal, a person's own runs."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from jobs.models import User
from jobs.tokens.services import issue_token
from tests.cli.asking import SCRIPT
from tests.cli.programs import built, person_of, ran
from tests.portal.work.test_trials import runs_sent

pytestmark = pytest.mark.django_db(transaction=True)
REQUEST = {
    **{"--partition": "small-g", "--nodes": "1", "--gpus-per-node": "8", "--ntasks-per-node": "8"},
    **{"--cpus-per-task": "7", "--mem": "480G", "--time": "1-00:00:00"},
}


@pytest.fixture(scope="module")
def kaiku(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("built"))


@pytest.fixture
def environ(live_server, cast, reported, tmp_path: Path) -> dict[str, str]:
    """alice with a token and four runs of two hours, in which two of eight GPUs were used."""
    for job_id in range(1, 5):
        ended = timezone.now() - timedelta(days=job_id)
        times = {"started_at": (ended - timedelta(hours=2)).isoformat(), "ended_at": ended.isoformat()}
        named = f"train_llama_v{job_id}"
        reported(job_id, job_name=named, request=REQUEST, walltime_requested_s=86_400, **times)
    token = issue_token(User.objects.get(username="alice"), name="cli", days=30, now=timezone.now())
    return person_of(tmp_path) | {"KAIKU_URL": live_server.url, "KAIKU_TOKEN": token, "COLUMNS": "80"}


@pytest.fixture
def script(tmp_path: Path) -> Path:
    path = tmp_path / "train.sbatch"
    path.write_bytes(SCRIPT.read_bytes())
    return path


def test_the_script_as_it_would_be_is_what_the_portal_would_suggest(kaiku, environ, script: Path) -> None:
    fixed = script.with_name("fixed.sbatch")
    status, said, _ = ran(kaiku, environ, "check", str(script), "--write", str(fixed))
    assert status == 0
    assert "--gpus-per-node=8 → --gpus-per-node=2" in said
    # 4 runs of two hours; the limit is a fifth longer than the longest: 2.4 h, to the next half hour.
    expected = script.read_text().replace("per-node=8", "per-node=2").replace("=480G", "=120G")
    assert fixed.read_text() == expected.replace("1-00:00:00", "02:30:00")
    status, said, _ = ran(kaiku, environ, "check", str(script), "--json")
    answer = json.loads(said)["answer"]["components"][0]
    assert answer["earlier_runs"]["n"] == 4
    # Two GPUs of the site's four modules of a node are one module: 0.5 GPU-hours an hour each.
    assert (answer["cost"]["at_limit"], answer["suggestion"]["cost"]["at_limit"]) == (96.0, 2.5)


def test_a_request_beyond_the_partition_is_refused_before_slurm_does(kaiku, environ, script: Path) -> None:
    status, said, _ = ran(kaiku, environ, "check", "--nodes=2000", str(script))
    assert (status, "Refused       small-g allows at most 4 nodes for a job." in said.replace("\u00a0", " ")) == (
        5,
        True,
    )


def test_other_partitions_are_compared(kaiku, environ, script: Path) -> None:
    status, said, _ = ran(kaiku, environ, "elsewhere", str(script))
    assert status == 0
    assert "small-g" in said
    assert "right-sized" in said


def test_from_trials_to_the_curve(kaiku, environ, script: Path, client: Client) -> None:
    status, said, _ = ran(kaiku, environ, "trial", str(script), "--gpus", "1,2,4,8,2000")
    assert status == 0
    assert "2,000 GPUs" in said
    times_s = {1: 560.0, 2: 300.0, 4: 200.0, 8: 175.0}
    written = {gpus: script.with_name(f"train.gpus{gpus}.sbatch").read_bytes() for gpus in times_s}
    runs_sent(
        client,
        [(50 + at, written[gpus], run_s, "COMPLETED", 80.0) for at, (gpus, run_s) in enumerate(times_s.items())],
    )
    status, said, _ = ran(kaiku, environ, "scale", "train_llama_v2")
    assert status == 0
    # 560 / (2 x 300) = 0.933; 560 / (4 x 200) = 0.7; 560 / (8 x 175) = 0.4
    assert "Up to 4 GPUs keep at least 70 % of the speed per GPU of 1 GPU." in " ".join(said.split()).replace(
        "\u00a0", " "
    )
    assert "--gpus-per-node=4" in said
    # The whole runs stay what the next request is compared with.
    status, said, _ = ran(kaiku, environ, "check", str(script), "--json")
    assert json.loads(said)["answer"]["components"][0]["earlier_runs"]["n"] == 4
