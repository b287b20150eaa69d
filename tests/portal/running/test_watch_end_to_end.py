"""`kaiku watch` as people run it: the built file, a live portal, a job that idles, is cancelled and gets its report."""

from __future__ import annotations

import signal
import subprocess
from datetime import timedelta
from pathlib import Path

import pytest
from django.test import Client
from django.utils import timezone

from analysis.early.models import RunningRun
from jobs.models import User
from jobs.tokens.services import issue_token
from tests.cli.programs import built, person_of, ran
from tests.portal.queue.queued import read
from tests.portal.running.shown import measured, word
from tests.processes import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def kaiku(tmp_path: Path) -> str:
    return built(tmp_path)


@pytest.fixture
def environ(live_server, cast, tmp_path: Path) -> dict[str, str]:
    cast("alice")
    secret = issue_token(User.objects.get(username="alice"), name="kaiku", days=30, now=timezone.now())
    return person_of(tmp_path) | {"KAIKU_URL": live_server.url, "KAIKU_TOKEN": secret, "COLUMNS": "80"}


def test_a_running_job_with_its_word_and_then_nothing_that_runs(kaiku, environ) -> None:
    assert ran(kaiku, environ, "watch") == (0, "None of your GPU jobs runs now.\n", "")
    word(measured())
    for words in (("watch", "--once"), ("watch", "--once", "123456"), ("watch", "--once", "lumi/123456")):
        status, said, errors = ran(kaiku, environ, *words)
        assert (status, errors) == (0, "")
        assert said.startswith("lumi/123456 · train · 8\u00a0GPUs · small-g\n".replace("\u00a0", " "))
        assert "! No GPU of this job has work" in said
        assert "      srun --overlap --jobid=123456 --nodes=1 --ntasks=1 --pty rocm-smi\n" in said
    assert ran(kaiku, environ, "watch", "--once", "puhti/123456")[0] == 1


def test_control_c_ends_it_without_a_traceback(kaiku, environ) -> None:
    measured()
    process = subprocess.Popen(
        [kaiku, "watch"],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline().startswith("lumi/123456 · train")
    # The status is printed whole before it waits.
    while process.stdout.readline().strip():
        pass
    process.send_signal(signal.SIGINT)
    assert (process.communicate(timeout=PATIENCE_S)[1], process.returncode) == ("", 130)


def test_the_report_is_what_the_calls_of_the_watch_find_once_the_owner_has_cancelled(reported) -> None:
    alice = Client()
    alice.force_login(User.objects.get(username="alice"))
    word(measured())
    assert alice.get("/api/v1/running/?job_id=123456").json()["count"] == 1
    started_at = RunningRun.objects.get().started_at
    reported(123456, state="CANCELLED", started_at=started_at.isoformat(), ended_at=timezone.now().isoformat())
    read(minutes_ago=0)
    assert alice.get("/api/v1/running/?job_id=123456").json()["jobs"] == []
    report = alice.get("/api/v1/jobs/lumi/123456/").json()
    assert report["job"]["state"] == "CANCELLED"
    assert report["job"]["ended_at"] > (started_at + timedelta(minutes=70)).isoformat()
