"""What docs/logging-runs.md lets people copy, read out of it and run against the real server."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.utils import timezone

from jobs.experiments.models import Artifact, ExperimentRun
from jobs.experiments.selectors import series_of
from jobs.models import Token, User
from jobs.tokens.services import issue_token
from tests.portal.served import Server, database_environment, serving
from tests.processes import PATIENCE_S, free_ports, patience
from tests.tokens import create_collector_token

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

DOCUMENT = (Path(__file__).parents[3] / "docs/logging-runs.md").read_text()
SNIPPET, USE = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.M | re.S)
CALLS, EPILOG = re.findall(r"^```sh\n(.*?)^```$", DOCUMENT, re.M | re.S)
STEP_MS_MAX = 1000
"""A step that waited for a portal that hangs would wait for two seconds; a busy machine holds one up for less."""
TRAINING = """
longest, steps, pause = 0.0, {steps}, {pause}
run = KaikuRun("vit", seed=7, config={{"lr": 0.1}})
for step in range(steps):
    began = time.monotonic()
    run.log(step, loss=2 * step, acc=float("nan"))
    longest = max(longest, time.monotonic() - began)
    time.sleep(pause)
run.log(0, loss="no number")
run.end(wait_s={wait})
print(json.dumps(longest * 1000))
"""


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with serving(database_environment(tmp_path_factory.mktemp("var"))) as started:
        yield started


@pytest.fixture
def token(transactional_db: None) -> str:
    alice = User.objects.create(username="alice")
    return issue_token(alice, name="log", days=1, now=timezone.now(), kind=Token.Kind.RUNS)


def environ(port: int, token: str) -> dict[str, str]:
    named = {"PATH": "/usr/bin:/bin", "LANG": "C.UTF-8", "SLURM_JOB_ID": "123456", "SLURM_CLUSTER_NAME": "lumi"}
    return named | {"KAIKU_URL": f"http://127.0.0.1:{port}", "KAIKU_LOG_TOKEN": token}


def training(port: int, token: str, *, steps: int = 100, pause: float = 0.0, wait: int = 10) -> subprocess.Popen[str]:
    # A portal that hangs is given up after a shorter time here.
    script = SNIPPET.replace("timeout=10", "timeout=2") + TRAINING.format(steps=steps, pause=pause, wait=wait)
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-IS", "-c", script], env=environ(port, token), text=True, **streams)


def ended(process: subprocess.Popen[str]) -> str:
    """What a training that ended well printed to standard error; no step waited."""
    out, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, errors
    assert json.loads(out) < STEP_MS_MAX
    return errors


def losses(run: ExperimentRun) -> list[tuple[int, float]]:
    points = series_of(run)["loss"].points
    return list(zip(points.steps.tolist(), points.values.tolist(), strict=True))


def test_it_is_as_short_as_it_is_said_to_be() -> None:
    assert "about 70 lines to copy" in DOCUMENT
    code = [line for line in SNIPPET.splitlines() if line.strip()]
    assert len(code) <= 73
    assert max(map(len, code)) <= 120
    assert "KaikuRun(" in USE


def test_a_training_logs_every_step(server: Server, token: str) -> None:
    errors = ended(training(server.port, token))
    run = ExperimentRun.objects.get()
    assert losses(run) == [(step, 2.0 * step) for step in range(100)]
    assert series_of(run)["acc"].digest.nan_count == 100
    assert (run.status, run.seed, run.params) == ("FINISHED", "7", {"lr": "0.1"})
    assert run.run_jobs.values_list("cluster", "job_id").get() == ("lumi", 123456)
    # Its address, and the one value that is no number.
    assert sorted(errors.splitlines()) == [
        "kaiku: 1 of 201 values not logged",
        f"kaiku: http://127.0.0.1:{server.port}/runs/{run.run_id}/",
        "kaiku: loss not logged: ValueError(\"could not convert string to float: 'no number'\")",
    ]


def test_a_portal_that_is_down_and_hangs_for_a_while_gets_every_step_later(token: str, tmp_path: Path) -> None:
    [port] = free_ports(1)
    process = training(port, token, steps=300, pause=0.01, wait=40)
    time.sleep(1)
    with socket.create_server(("127.0.0.1", port)):
        time.sleep(1)
    with serving(database_environment(tmp_path), port=port):
        errors = ended(process)
    assert losses(ExperimentRun.objects.get()) == [(step, 2.0 * step) for step in range(300)]
    assert errors.splitlines()[0].startswith("kaiku: trying again: <urlopen error")
    assert errors.count("trying again: <urlopen") == 1
    assert errors.endswith("kaiku: 1 of 601 values not logged\n")


def test_a_portal_that_hangs_to_the_end_is_not_waited_for(token: str) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=20) as hung:
        began = time.monotonic()
        errors = ended(training(hung.getsockname()[1], token, steps=1000, wait=1))
    assert errors.endswith("kaiku: 2001 of 2001 values not logged\n")
    assert time.monotonic() - began < patience(30), "it would try again for ever"


@pytest.mark.parametrize("wrong", ["kaiku_log_wrong", "", "two words\n"])
def test_a_wrong_token_stops_nothing(server: Server, token: str, wrong: str) -> None:
    errors = ended(training(server.port, wrong, steps=200, wait=1))
    said = "kaiku: trying again: Invalid header" if " " in wrong else "kaiku: trying again: refused: 401 {"
    # Another thread says so, before or after the value that is no number.
    assert [line.startswith(said) for line in errors.splitlines() if "trying again" in line] == [True]
    assert errors.endswith("kaiku: 401 of 401 values not logged\n")
    assert not ExperimentRun.objects.exists()


def test_more_than_there_is_room_for_is_counted(token: str) -> None:
    """50,000 places, two values a step: 5,000 steps more, and one that is no number."""
    errors = ended(training(9, token, steps=30_000, wait=0))
    assert "kaiku: loss not logged: Full()\n" in errors or "kaiku: acc not logged: Full()\n" in errors
    assert errors.endswith("kaiku: 60001 of 60001 values not logged\n")


def scripted(port: int, token: str, script: str) -> list[str]:
    """The lines of standard error of a script that uses the copied lines."""
    options = {"env": environ(port, token), "capture_output": True, "text": True, "timeout": 60, "check": False}
    done = subprocess.run([sys.executable, "-IS", "-c", f"{SNIPPET}\n{script}"], **options)
    assert (done.returncode, done.stdout) == (0, "")
    return done.stderr.splitlines()


CONFIG = """
import pathlib
config = {"lr": float("nan"), "at": pathlib.Path("/scratch/x"), "long": "x" * 7000, "": 1, 2: None}
config |= {"net": {"depth": 12}, "bad": "\\udcff"}
run = KaikuRun("vit", config=config, seed=7, %s)
run.log(1, loss=0.5)
run.end()
"""


def test_a_configuration_becomes_text(server: Server, token: str) -> None:
    [address] = scripted(server.port, token, CONFIG % "")
    run = ExperimentRun.objects.get()
    assert address.endswith(f"/runs/{run.run_id}/")
    kept = {"lr": "nan", "at": "/scratch/x", "long": "x" * 6000, "2": "None", "net": "{'depth': 12}", "bad": "?"}
    assert (run.params, run.seed, losses(run)) == (kept, "7", [(1, 0.5)])


def test_a_run_starts_without_what_is_refused(server: Server, token: str) -> None:
    refused, without, address = scripted(server.port, token, CONFIG % "depth=3")
    assert refused.startswith('kaiku: refused: 422 {"type":"about:blank"')
    assert "`depth`" in refused
    assert without == "kaiku: the run starts without depth"
    run = ExperimentRun.objects.get()
    assert address.endswith(f"/runs/{run.run_id}/")
    assert (run.seed, run.params["lr"], losses(run), run.status) == ("7", "nan", [(1, 0.5)], "FINISHED")


def test_a_configuration_that_is_none_does_not_cost_the_points(server: Server, token: str) -> None:
    why, address = scripted(server.port, token, 'run = KaikuRun("vit", config=3)\nrun.log(1, loss=0.5)\nrun.end()')
    assert why.startswith("kaiku: not logged: TypeError(")
    assert "/runs/" in address
    assert losses(ExperimentRun.objects.get()) == [(1, 0.5)]


def test_refused_values_are_counted_and_not_sent_again(server: Server, token: str) -> None:
    """More of them than one call has, and some among good ones; those after them arrive, within the 10 s of `end`."""
    script = """
run = KaikuRun("vit")
for step in range(600):
    run.log(step, **{"long" * 100: 1})
for step in range(50):
    run.log(step, **{"long" * 100: 1, "loss": 2 * step})
run.log(10 ** 400, loss=1)
run.end()
"""
    said = scripted(server.port, token, script)
    assert losses(ExperimentRun.objects.get()) == [(step, 2.0 * step) for step in range(50)]
    assert said[-1] == "kaiku: 651 of 701 values not logged"
    assert sum("must have 1 to 250 characters" in line for line in said) == 2
    assert sum("OverflowError" in line for line in said) == 1
    assert len(said) == 5


def sh(commands: str, given: dict[str, str]) -> str:
    done = subprocess.run(
        ["sh", "-ec", commands], env=given, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_calls_with_curl(server: Server, token: str) -> None:
    said = sh(CALLS, environ(server.port, token))
    run = ExperimentRun.objects.get()
    assert '{"accepted":2,"rejected":[]}{"accepted":1}' in said.replace(" ", "")
    assert (run.experiment.name, run.seed, run.status) == ("vit", "7", "FINISHED")
    assert losses(run)[0] == (1, 0.5)
    assert series_of(run)["loss"].digest.nan_count == 1
    assert Artifact.objects.get().path == "/scratch/ckpt/1.pt"


def test_the_epilog_ends_the_runs_of_its_job(server: Server, token: str) -> None:
    sh(CALLS.rpartition("call ")[0], environ(server.port, token))
    assert ExperimentRun.objects.get().status == "RUNNING"
    job = {"SLURM_JOB_USER": "alice", "SLURM_JOB_EXIT_CODE2": "0:9", "TOKEN": create_collector_token("nodes", "lumi")}
    assert json.loads(sh(EPILOG, environ(server.port, "") | job)) == {"runs": 1}
    assert ExperimentRun.objects.get().status == "FAILED"
