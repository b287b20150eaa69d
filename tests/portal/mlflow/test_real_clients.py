"""MLflow's own clients, unchanged, against the portal: both versions that training environments have."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from django.utils import timezone

from jobs.experiments.models import Artifact, ExperimentRun, RunJob
from jobs.experiments.selectors import series_of
from jobs.experiments.services.following import follow_runs
from jobs.experiments.services.points import sort_points
from jobs.models import User
from jobs.records import JobRecord
from jobs.services import record_job
from tests.parts import CLIENTS
from tests.payloads import job_record
from tests.portal.mlflow.tracking import logging_token
from tests.portal.served import database_environment, serving
from tests.processes import PATIENCE_S, free_ports

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]

TRAINING = Path(__file__).parent / "training"
[LINES] = re.findall(
    r"^```python\n(.*?)^with run:", (Path(__file__).parents[3] / "docs/mlflow.md").read_text(), re.MULTILINE | re.DOTALL
)


class Training:
    """A person's scripts, run by the Python of one client."""

    def __init__(self, client: str, portal: str, home: Path) -> None:
        self.python = CLIENTS / client / "bin" / "python"
        self.portal, self.home = portal, home
        self.user = User.objects.create(username="alice")
        self.token = logging_token(self.user)

    def run(self, script: str, job: str = "", **variables: str) -> subprocess.CompletedProcess[str]:
        at = f"{self.portal}/mlflow/j/{job}" if job else f"{self.portal}/mlflow"
        environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "MLFLOW_TRACKING_URI": at,
            "MLFLOW_TRACKING_TOKEN": self.token,
            "MLFLOW_DISABLE_TELEMETRY": "true",
            "MLFLOW_HTTP_REQUEST_MAX_RETRIES": "1",
            "MLFLOW_SYSTEM_METRICS_SAMPLING_INTERVAL": "1",
            "MLFLOW_SYSTEM_METRICS_SAMPLES_BEFORE_LOGGING": "1",
            "GIT_PYTHON_REFRESH": "quiet",
        }
        command = [str(self.python), str(TRAINING / script)]
        options = {"env": environment | variables, "cwd": self.home, "timeout": PATIENCE_S}
        done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
        print(done.stderr)
        return done


@pytest.fixture(
    params=[
        pytest.param("mlflow-3", marks=pytest.mark.needs("MLflow 3")),
        pytest.param("mlflow-2", marks=pytest.mark.needs("MLflow 2")),
    ]
)
def client(request: pytest.FixtureRequest) -> str:
    return request.param


@pytest.fixture
def training(client: str, live_server, tmp_path: Path) -> Training:
    """Scripts that log to the pages' threads."""
    return Training(client, live_server.url, tmp_path)


@pytest.fixture
def served(client: str, transactional_db: None, tmp_path: Path) -> Iterator[Training]:
    """Scripts that log to the real server with its event loop."""
    with serving(database_environment(tmp_path)) as server:
        yield Training(client, f"http://127.0.0.1:{server.port}", tmp_path)


@pytest.fixture(autouse=True)
def no_errors_of_the_portal(caplog: pytest.LogCaptureFixture) -> Iterator[None]:
    """A client would try again and hide them."""
    yield
    assert [each.message for each in caplog.get_records("call") if getattr(each, "status_code", 0) >= 500] == []


def test_a_script_that_logs_in_every_way(training: Training) -> None:
    context = {"MLFLOW_RUN_CONTEXT": '{"slurm.job_id": "123456"}'} if training.python.match("*mlflow-3/*/*") else {}
    done = training.run("everything.py", job="" if context else "lumi/123456", **context)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    run = ExperimentRun.objects.get(name="outer")
    experiment = run.experiment
    assert f"View run outer at: {training.portal}/mlflow" in done.stdout
    assert f"/#/experiments/{experiment.pk}/runs/{run.run_id}\n" in done.stdout
    assert (found["active"], found["status"], found["name"]) == ("RUNNING", "FINISHED", "outer")
    assert found["metrics"] == {
        "loss": "0.1",
        "acc": "0.5",
        "nan": "nan",
        "up": "inf",
        "down": "-inf",
        "seconds": "1.0",
        "batch": "999.0",
        "later": "49.0",
    }
    assert found["history"] == [[step, 1 / (1 + step)] for step in range(10)]
    assert (found["later"], found["batch"], found["nan"]) == (50, 1000, ["nan"])
    assert found["params"] == {"lr": "0.1", "long": "x" * 6000, **{f"p{place}": str(place) for place in range(150)}}
    assert {name: found["tags"].get(name) for name in ("a", "b", "stage")} == {"a": None, "b": "2", "stage": "one"}
    assert (found["searched"], found["experiments"], found["parent"]) == (["inner", "outer"], ["vit"], True)
    assert found["files"] == ["all", "config.json", "empty.txt", "notes"]
    assert (found["text"], found["dict"]) == ("some text", {"depth": 12})
    assert found["downloaded"] == ["all/sub/ä b.txt"]
    codes = {name: found[name] for name in ("changed", "unkept", "registry", "deleted", "restored", "netrc")}
    assert codes["changed"] == codes["restored"] == "INVALID_PARAMETER_VALUE"
    assert (codes["registry"], codes["deleted"]) == ("ENDPOINT_NOT_FOUND", "RESOURCE_DOES_NOT_EXIST")
    assert codes["netrc"] == "UNAUTHENTICATED"
    assert found["default"] == "RUNNING"
    assert found["renamed"]
    assert list(Artifact.objects.filter(kind="discarded").values_list("path", flat=True).order_by("path")) == [
        "all/weights.bin",
        "weights.bin",
    ]
    assert run.odd_times == 1
    assert ExperimentRun.objects.get(name="inner").parent == run
    assert set(RunJob.objects.values_list("job_id", flat=True)) == {123456}
    assert any(name.startswith("system/") for name in series_of(run))


def test_the_ways_in_which_scripts_end_and_one_that_goes_on_in_another_job(served: Training) -> None:
    """What is reported last is often wrong or missing; the record of the job decides about the killed one."""
    done = served.run("ends.py", job="1")
    assert done.returncode == -signal.SIGTERM, done.stderr
    run_id = done.stdout.splitlines()[-1]
    statuses = dict(ExperimentRun.objects.values_list("name", "status"))
    assert statuses == {"failed": "FAILED", "left": "FAILED", "killed": "RUNNING"}
    ended = timezone.now()
    record_job(_record(1, ended, "TIMEOUT"))
    follow_runs(10, timezone.now())
    killed = ExperimentRun.objects.get(run_id=run_id)
    assert (killed.status, killed.is_by_slurm) == ("KILLED", True)
    ExperimentRun.objects.filter(pk=killed.pk).update(started_at=ended - timedelta(hours=2))
    again = served.run(
        "resumes.py",
        "2",
        MLFLOW_RUN_ID=run_id,
        MLFLOW_ENABLE_ASYNC_LOGGING="true",
        MLFLOW_ASYNC_LOGGING_BUFFERING_SECONDS="1",
    )
    assert again.returncode == 1
    assert "a mistake in the script" in again.stderr
    sort_points(10, timezone.now())
    killed.refresh_from_db()
    assert killed.reported == "FINISHED"  # a client cannot tell how its script ends outside of its block
    assert list(killed.run_jobs.order_by("pk").values_list("job_id", flat=True)) == [1, 2]
    assert series_of(killed)["loss"].points.steps.tolist() == list(range(1, 102))


def _record(job_id: int, ended_at: datetime, state: str) -> JobRecord:
    began = ended_at - timedelta(hours=2)
    times = {"started_at": began.isoformat(), "ended_at": ended_at.isoformat(), "submitted_at": began.isoformat()}
    return job_record(job_id=job_id, state=state, user_id="alice", **times)


def test_the_lines_to_copy_train_on_while_the_portal_is_down(client: str, db: None, tmp_path: Path) -> None:
    [port] = free_ports(1)
    training = Training(client, f"http://127.0.0.1:{port}", tmp_path)
    for asynchronous in ("false", "true"):
        done = training.run("portal_down.py", LINES=LINES, MLFLOW_ENABLE_ASYNC_LOGGING=asynchronous)
        assert done.returncode == 0, done.stderr
        first, *_, last = done.stdout.splitlines()
        assert first.startswith("Kaiku does not have this run: ")
        assert last == "trained 3"


def test_the_lines_to_copy_log_to_the_portal(training: Training) -> None:
    done = training.run("portal_down.py", LINES=LINES)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "trained 3")
    run = ExperimentRun.objects.get()
    assert (run.experiment.name, run.params, run.status) == ("vit", {"lr": "0.1"}, "FINISHED")
