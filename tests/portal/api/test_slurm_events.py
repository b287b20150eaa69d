"""Events of jobs that an epilog states: as `curl` sends them, whose runs they end, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.experiments.models import ExperimentRun
from jobs.experiments.services.experiments import named_experiment
from jobs.experiments.services.runs import RunChange, StatedJob, start_run
from jobs.models import User
from tests.tokens import create_collector_token

pytestmark = pytest.mark.django_db
PATH = "/webhooks/slurm"


@pytest.fixture
def run() -> ExperimentRun:
    now = timezone.now()
    alice = User.objects.create(username="alice")
    experiment, _ = named_experiment(alice, "vit", now)
    return start_run(alice, experiment.pk, now, change=RunChange(), job=StatedJob(123456))


@pytest.fixture
def epilog() -> Client:
    return bearing(create_collector_token("nodes", cluster="lumi"))


def bearing(secret: str) -> Client:
    return Client(headers={"Authorization": f"Bearer {secret}"})


def status_of(run: ExperimentRun) -> str:
    run.refresh_from_db()
    return run.status


@pytest.mark.parametrize(
    ("said", "status"),
    [
        ({"job_id": "123456", "user": "alice", "state": "TIMEOUT"}, "KILLED"),
        ({"job_id": "123456", "user": "alice", "state": "CANCELLED by 1000"}, "KILLED"),
        ({"SLURM_JOB_ID": "123456", "SLURM_JOB_USER": "alice", "SLURM_JOB_EXIT_CODE2": "1:0"}, "FAILED"),
        ({"job_id": "123456", "user": "alice", "exit_code": "0:0", "SLURM_CLUSTER_NAME": "lumi"}, "FINISHED"),
    ],
)
@pytest.mark.parametrize("form", ["application/x-www-form-urlencoded", "application/json"])
def test_an_event_ends_the_runs_of_its_job(
    epilog: Client, run: ExperimentRun, said: dict[str, str], status: str, form: str
) -> None:
    body: Any = said if form.endswith("json") else "&".join(f"{name}={value}" for name, value in said.items())
    answer = epilog.post(PATH, body, content_type=form)
    assert (answer.status_code, answer.json()) == (200, {"runs": 1})
    assert status_of(run) == status


def test_an_event_of_another_user_or_job_ends_nothing(epilog: Client, run: ExperimentRun) -> None:
    for said in ({"job_id": 123456, "user": "bob"}, {"job_id": 7, "user": "alice"}):
        answer = epilog.post(PATH, said | {"state": "FAILED"}, content_type="application/json")
        assert answer.json() == {"runs": 0}
    assert status_of(run) == "RUNNING"


@pytest.mark.parametrize(
    ("said", "path"),
    [
        ({"user": "alice", "state": "FAILED"}, "job_id"),
        ({"job_id": "12a", "user": "alice", "state": "FAILED"}, "job_id"),
        ({"job_id": True, "user": "alice", "state": "FAILED"}, "job_id"),
        ({"job_id": 1, "state": "FAILED"}, "user"),
        ({"job_id": 1, "user": "a b", "state": "FAILED"}, "user"),
        ({"job_id": 1, "user": "alice", "state": "RUNNING"}, "state"),
        ({"job_id": 1, "user": "alice"}, "state"),
        ({"job_id": 1, "user": "alice", "exit_code": "x"}, "state"),
        ({"job_id": 1, "user": "alice", "state": "FAILED", "cluster": "mahti"}, "cluster"),
        ([1], ""),
    ],
)
def test_what_is_no_event_is_named(epilog: Client, said: Any, path: str) -> None:
    answer = epilog.post(PATH, said, content_type="application/json")
    assert answer.status_code == 422
    assert [error["path"] for error in answer.json()["errors"]] == [path]


def test_a_nul_character_is_a_problem_for_a_program(epilog: Client) -> None:
    answer = epilog.post(PATH, "job_id=1&user=al%00ice&state=FAILED", content_type="application/x-www-form-urlencoded")
    assert (answer.status_code, answer["Content-Type"]) == (400, "application/problem+json")


def test_only_the_collectors_of_a_whole_cluster_state_events(run: ExperimentRun) -> None:
    said = {"job_id": 123456, "user": "alice", "state": "FAILED"}
    of_a_node = bearing(create_collector_token("one node", cluster="lumi", node="nid005001"))
    assert of_a_node.post(PATH, said, content_type="application/json").status_code == 403
    assert bearing("wrong").post(PATH, said, content_type="application/json").status_code == 401
    assert Client().post(PATH, said, content_type="application/json").status_code == 401
    assert status_of(run) == "RUNNING"
