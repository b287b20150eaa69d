"""`kaiku run-log` against the real server: what scripts and pipes log is stored, and trouble is reported."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from jobs.experiments.models import Artifact, ExperimentRun
from jobs.experiments.selectors import series_of
from jobs.models import Token, User
from jobs.tokens.services import issue_token
from tests.cli.programs import built, person_of, ran
from tests.portal.served import Server, database_environment, serving
from tests.processes import PATIENCE_S, free_ports, wait_until

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture(scope="module")
def kaiku(tmp_path_factory: pytest.TempPathFactory) -> str:
    return built(tmp_path_factory.mktemp("built"))


def token_of(username: str, **more: object) -> str:
    user, _ = User.objects.get_or_create(username=username)
    return issue_token(user, **{"name": "log", "days": 1, "now": timezone.now(), "kind": Token.Kind.RUNS} | more)


@pytest.fixture(scope="module")
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for all: what one test logs, no other sees."""
    with serving(database_environment(tmp_path_factory.mktemp("var"))) as started:
        yield started


def person_at(port: int, tmp_path: Path, token: str) -> dict[str, str]:
    return person_of(tmp_path) | {"KAIKU_URL": f"http://127.0.0.1:{port}", "KAIKU_LOG_TOKEN": token}


@pytest.fixture
def alice(server: Server, transactional_db: None, tmp_path: Path) -> dict[str, str]:
    """Her environment in a job."""
    person = person_at(server.port, tmp_path, token_of("alice"))
    return person | {"SLURM_JOB_ID": "123456", "SLURM_CLUSTER_NAME": "lumi"}


def points(run: ExperimentRun, name: str) -> list[tuple[int, float]]:
    series = series_of(run)[name].points
    return list(zip(series.steps.tolist(), series.values.tolist(), strict=True))


def piped(kaiku: str, environ: dict[str, str], *words: str) -> subprocess.Popen[bytes]:
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([kaiku, "run-log", "pipe", *words], env=environ, bufsize=0, **streams)


def test_a_run_of_a_shell_script(kaiku: str, alice: dict[str, str], tmp_path: Path) -> None:
    words = ("--experiment", "vit", "--name", "first", "--seed", "7", "--param", "lr=0.1", "--param", "net=a=b")
    status, said, why = ran(kaiku, alice, "run-log", "start", *words)
    run_id = said.strip()
    assert (status, why) == (0, f"kaiku: {alice['KAIKU_URL']}/runs/{run_id}/\n")
    checkpoint = tmp_path / "ckpt.pt"
    checkpoint.write_bytes(b"12345")
    for logged in (
        ("metric", run_id, "loss=0.12", "acc=0.9", "--step", "5"),
        ("metric", run_id, "loss=nan", "--step=-1"),
        ("file", run_id, str(checkpoint), "--kind", "checkpoint", "--step", "5"),
        ("end", run_id, "--failed"),
    ):
        assert ran(kaiku, alice, "run-log", *logged) == (0, "", "")
    run = ExperimentRun.objects.get(run_id=run_id)
    assert (run.experiment.name, run.name, run.seed, run.status) == ("vit", "first", "7", "FAILED")
    assert run.params == {"lr": "0.1", "net": "a=b"}
    assert [(job.job_id, job.cluster) for job in run.run_jobs.all()] == [(123456, "lumi")]
    assert points(run, "acc") == [(5, 0.9)]
    assert sorted(step for step, _ in points(run, "loss")) == [-1, 5]
    [file] = Artifact.objects.all()
    assert (file.path, file.kind, file.step, file.size_bytes) == (str(checkpoint), "checkpoint", 5, 5)


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("metric", "loss=1"), "There is no such run of yours."),
        (("end",), "There is no such run of yours."),
        (("file", "/scratch/x"), "There is no such run of yours."),
    ],
)
def test_the_run_of_another_is_said_not_to_be_there(
    kaiku: str, alice: dict[str, str], words: tuple[str, ...], why: str
) -> None:
    run_id = ran(kaiku, alice, "run-log", "start", "--experiment", "vit")[1].strip()
    bob = alice | {"KAIKU_LOG_TOKEN": token_of("bob")}
    action, *rest = words
    status, _, said = ran(kaiku, bob, "run-log", action, run_id, *rest)
    assert (status, said.splitlines()[-1]) == (0, f"kaiku: not logged: {why}")
    status, _, said = ran(kaiku, bob, "run-log", action, run_id, *rest, "--strict")
    assert (status, said.splitlines()[-1]) == (1, f"kaiku: {why}")
    run = ExperimentRun.objects.get()
    assert (run.status, series_of(run), Artifact.objects.exists()) == ("RUNNING", {}, False)


def test_a_token_that_has_expired_or_reads_logs_nothing(kaiku: str, alice: dict[str, str]) -> None:
    login = "unset KAIKU_LOG_TOKEN and run `kaiku login --runs`"
    late = token_of("alice", name="late", now=timezone.now() - timedelta(days=2))
    reads = token_of("alice", name="reads", kind=Token.Kind.READ)
    for token, why in (
        (late, f"the token is not valid (expired or revoked): {login}"),
        (reads, "A personal token is read-only."),
    ):
        person = alice | {"KAIKU_LOG_TOKEN": token}
        assert ran(kaiku, person, "run-log", "start", "--experiment", "vit") == (0, "", f"kaiku: not logged: {why}\n")
        assert ran(kaiku, person, "run-log", "start", "--experiment", "vit", "--strict")[0] == 3
        process = piped(kaiku, person, "--experiment", "vit")
        out, errors = process.communicate(b"loss=1\nloss=2\n", timeout=PATIENCE_S)
        assert (process.returncode, out) == (0, b"loss=1\nloss=2\n")
        assert errors.decode().splitlines()[-1] == f"kaiku: 2 of 2 points not logged: {why}"


def test_many_scripts_at_once_and_in_a_row_share_one_experiment(kaiku: str, alice: dict[str, str]) -> None:
    """Twenty runs, five at a time; the first five make the experiment together."""

    def started(place: int) -> str:
        return ran(kaiku, alice, "run-log", "start", "--experiment", "sweep", "--seed", str(place))[1].strip()

    with ThreadPoolExecutor(5) as pool:
        ids = list(pool.map(started, range(20)))
    assert len(set(ids)) == 20
    seeds = dict(ExperimentRun.objects.filter(experiment__name="sweep").values_list("run_id", "seed"))
    assert [seeds[run_id] for run_id in ids] == [str(place) for place in range(20)]


def test_what_a_program_prints_is_logged_and_passed_on(kaiku: str, alice: dict[str, str]) -> None:
    text = b'begin\nstep=1 loss=0.5\n{"step": 2, "loss": 0.25, "acc": NaN}\nloss=1,5\nstep=3 loss=0.125'
    process = piped(kaiku, alice, "--experiment", "vit", "--seed", "3")
    out, errors = process.communicate(text, timeout=PATIENCE_S)
    run = ExperimentRun.objects.get()
    assert (process.returncode, out) == (0, text)
    assert errors.decode() == f"kaiku: 4 points logged, {alice['KAIKU_URL']}/runs/{run.run_id}/\n"
    assert points(run, "loss") == [(1, 0.5), (2, 0.25), (3, 0.125)]
    assert (run.status, run.seed, run.run_jobs.get().job_id) == ("FINISHED", "3", 123456)


def test_a_pipe_into_a_run_that_was_started_does_not_end_it(kaiku: str, alice: dict[str, str]) -> None:
    run_id = ran(kaiku, alice, "run-log", "start", "--experiment", "vit")[1].strip()
    assert piped(kaiku, alice, "--run", run_id).communicate(b"loss=1\n", timeout=PATIENCE_S)[0] == b"loss=1\n"
    run = ExperimentRun.objects.get()
    assert (run.status, points(run, "loss")) == ("RUNNING", [(0, 1.0)])
    bob = alice | {"KAIKU_LOG_TOKEN": token_of("bob")}
    errors = piped(kaiku, bob, "--run", run_id).communicate(b"loss=2\n", timeout=PATIENCE_S)[1]
    assert errors.splitlines()[-1] == b"kaiku: 1 of 1 point not logged: There is no such run of yours."
    assert points(run, "loss") == [(0, 1.0)]


def test_points_wait_while_the_portal_is_down_and_are_sent_when_it_is_back(
    kaiku: str, transactional_db: None, tmp_path: Path
) -> None:
    """It is not there at first, then hangs, then serves: all 100 points are logged, and no line waited."""
    [port] = free_ports(1)
    process = piped(kaiku, person_at(port, tmp_path, token_of("alice")), "--experiment", "vit", "--timeout", "1")

    def trained(steps: range) -> float:
        longest = 0.0
        for step in steps:
            began = time.monotonic()
            process.stdin.write(b"step=%d loss=%d\n" % (step, 2 * step))
            assert os.read(process.stdout.fileno(), 100)
            longest = max(longest, time.monotonic() - began)
        return longest

    longest = trained(range(50))
    with socket.create_server(("127.0.0.1", port)):
        time.sleep(1.5)
        longest = max(longest, trained(range(50, 90)))
    with serving(database_environment(tmp_path), port=port):
        longest = max(longest, trained(range(90, 100)))
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert longest < 1
    run = ExperimentRun.objects.get()
    assert errors.decode() == f"kaiku: 100 points logged, http://127.0.0.1:{port}/runs/{run.run_id}/\n"
    assert points(run, "loss") == [(step, 2.0 * step) for step in range(100)]
    assert run.status == "FINISHED"


@pytest.mark.parametrize(("number", "status"), [(signal.SIGTERM, "KILLED"), (signal.SIGKILL, "KILLED")])
def test_a_pipe_that_is_killed_reports_that_and_what_it_read(
    kaiku: str, alice: dict[str, str], number: signal.Signals, status: str
) -> None:
    process = piped(kaiku, alice, "--experiment", "vit")
    process.stdin.write(b"step=4 loss=1\n")
    assert os.read(process.stdout.fileno(), 100) == b"step=4 loss=1\n"
    # The output passes before it is read for points.
    time.sleep(0.2)
    process.send_signal(number)
    process.communicate(timeout=PATIENCE_S)
    assert process.returncode == -number
    wait_until("the end of the run", lambda: ExperimentRun.objects.get().status == status)
    assert points(ExperimentRun.objects.get(), "loss") == [(4, 1.0)]


def test_points_that_the_portal_rejects_are_counted_with_its_reason(kaiku: str, alice: dict[str, str]) -> None:
    process = piped(kaiku, alice, "--experiment", "vit", "--quiet")
    _, errors = process.communicate(b'{"loss": 1, " ": 2}\n', timeout=PATIENCE_S)
    assert errors == b"kaiku: 1 of 2 points not logged: must have 1 to 250 characters\n"
    run_id = ExperimentRun.objects.get().run_id
    _, _, said = ran(kaiku, alice, "run-log", "metric", run_id, " =1")
    assert said == "kaiku: not logged: must have 1 to 250 characters\n"
