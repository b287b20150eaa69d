"""From judged runs to the line beside `sbatch`: the portal, the built `kaiku`, its file, the filter, a real Slurm."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from jobs.models import User
from jobs.services import record_job
from metrics.services import record_node_summary
from portal.api import device as device_api
from portal.sign_in import device as device_sign_in
from tests.cli.programs import CODE, built
from tests.payloads import gpu, job_record, node_payload
from tests.processes import PATIENCE_S, wait_until
from tests.reports.builders import TWO_RANKS, WHOLE_REQUEST
from tests.slurm.cluster import USER
from tests.slurm.hint_files import PROJECT, new_home
from tests.slurm.submitting import Submitting

pytestmark = [pytest.mark.slurm, pytest.mark.django_db(transaction=True)]

NAME = "train_resnet"
OPTIONS = WHOLE_REQUEST | {"--account": PROJECT, "--partition": "small-g", "--nodes": "1"}
SCRIPT = "#!/bin/bash\n" + "".join(f"#SBATCH {name}={value}\n" for name, value in OPTIONS.items()) + "srun true\n"
RUNS = 3


class Person:
    """Somebody on a login node: `kaiku` and `sbatch` in a home directory of their own, nothing set."""

    def __init__(self, slurm: Submitting, url: str) -> None:
        self.slurm, self.kaiku = slurm, built(slurm.top, url)
        self.hints = new_home(slurm.home)
        self.environ = {
            **{name: slurm.environment[name] for name in ("PATH", "SLURM_CONF")},
            **{"HOME": str(slurm.home), "LANG": "C.UTF-8"},
        }

    def started(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [*words],
            env=self.environ,
            cwd=self.slurm.work,
            user=USER,
            group=USER,
            extra_groups=[],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def does(self, *words: str) -> tuple[str, str]:
        """Output and errors of a command that succeeds."""
        process = self.started(*words)
        out, errors = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, (words, out, errors)
        return out.replace("\u00a0", " "), errors

    def signs_in(self, browser: Client) -> None:
        """With the code that the machine shows, approved where the person is signed in."""
        process = self.started(self.kaiku, "login", "--name", "kaiku on uan01")
        assert process.stdout
        code = next(found[1] for found in map(CODE.search, process.stdout) if found)
        browser.post("/device/", {"user_code": code, "answer": "approve"})
        rest = process.communicate(timeout=PATIENCE_S)[0]
        assert process.returncode == 0
        assert f"Signed in as {USER}, read-only" in rest


@pytest.fixture
def slurm() -> Iterator[Submitting]:
    cluster = Submitting()
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.stop()


@pytest.fixture
def browser(monkeypatch: pytest.MonkeyPatch) -> Client:
    """Where the person is signed in; three judged runs of two hours kept two of their eight GPUs busy."""
    for module in (device_api, device_sign_in):
        monkeypatch.setattr(module, "INTERVAL_S", 1)
    gpus = [gpu(index, 88.0 if index < 2 else 0.0, peak_mem_gb=14.2) for index in range(8)]
    for number in range(1, RUNS + 1):
        ended = timezone.now() - timedelta(days=number)
        times = {"ended_at": ended.isoformat(), "started_at": (ended - timedelta(hours=2)).isoformat()}
        name = f"{NAME}_v{number}"
        record_job(job_record(job_id=number, user_id=USER, job_name=name, request=WHOLE_REQUEST, **times))
        record_node_summary(node_payload(gpus=gpus, cpu=TWO_RANKS, job_id=number))
    call_command("analyse_job", "--due", verbosity=0)
    client = Client()
    client.force_login(User.objects.get(username=USER))
    return client


def test_judged_runs_become_a_hint_at_sbatch_and_the_same_request_in_check(
    slurm: Submitting, browser: Client, live_server, settings
) -> None:
    person = Person(slurm, live_server.url)
    slurm.kaiku = Path(person.kaiku)
    slurm.install()
    script = slurm.work / f"{NAME}.sbatch"
    script.write_text(SCRIPT)

    # Nothing is known before the sign-in, and nobody is asked.
    assert person.does("sbatch", str(script)) == ("Submitted batch job 1\n", "")
    assert not person.hints.exists()
    person.signs_in(browser)
    # Any command fetches the hints in the background.
    assert f"{NAME}_v1" in person.does(person.kaiku)[0]
    wait_until("the hints", lambda: person.hints.exists() and "\nline\t" in person.hints.read_text())
    (hint,) = browser.get("/api/v1/hints/").json()["hints"]
    assert hint["lines"][0].startswith("Kaiku, last 90 days: 3 runs ")
    assert "--gpus-per-node=8 -> --gpus-per-node=2" in hint["lines"][1]
    shown = "".join(f"sbatch: lua: {line}\n" for line in hint["lines"])
    assert person.does("sbatch", str(script)) == ("Submitted batch job 2\n", shown)

    # The same request by another way; written, Slurm takes it.
    fixed = slurm.work / f"{NAME}_fixed.sbatch"
    said, _ = person.does(person.kaiku, "check", str(script), "--diff", "--write", str(fixed))
    assert "\n-#SBATCH --gpus-per-node=8\n" in said
    assert "\n+#SBATCH --gpus-per-node=2\n" in said
    # What was followed is not shown again.
    assert person.does("sbatch", f"--job-name={NAME}", str(fixed)) == ("Submitted batch job 3\n", "")
    requested = [person.does("scontrol", "show", "job", str(number))[0] for number in (2, 3)]
    assert ["TresPerNode=gres:gpu:8" in requested[0], "TresPerNode=gres:gpu:2" in requested[1]] == [True, True]

    # The site switches hints off: the next refresh, which a submission starts, silences sbatch.
    settings.SBATCH_HINTS = False
    head, _, rest = person.hints.read_text().partition("\n")
    person.hints.write_text(f"{head.rsplit(' ', 2)[0]} {int(time.time()) - 1} 1\n{rest}")
    assert person.does("sbatch", str(script)) == ("Submitted batch job 4\n", shown)
    wait_until("the refresh", lambda: "\noff\tThis site" in person.hints.read_text())
    assert person.does("sbatch", str(script)) == ("Submitted batch job 5\n", "")
    assert os.stat(person.hints).st_mode & 0o777 == 0o600
