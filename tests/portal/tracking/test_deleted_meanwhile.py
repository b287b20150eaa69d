"""Runs and experiments that are deleted while scripts log to them."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from http import HTTPStatus
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from jobs.experiments.models import Experiment, ExperimentRun, MetricSeries, PointBatch, RunJob
from jobs.experiments.points import Point
from jobs.experiments.rules import NoSuchExperiment, NoSuchRun
from jobs.experiments.services.experiments import delete_experiment, named_experiment
from jobs.experiments.services.points import LoggedCall, sort_points
from jobs.experiments.services.runs import RunChange, StatedJob, delete_run, start_run
from jobs.models import Token, User
from jobs.tokens.services import issue_token
from portal.tracking.services import store_calls
from tests.processes import PATIENCE_S

pytestmark = [pytest.mark.postgresql, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def alice() -> User:
    return User.objects.create(username="alice")


def run_of(user: User) -> ExperimentRun:
    now = timezone.now()
    experiment, _ = named_experiment(user, "vit", now)
    return start_run(user, experiment.pk, now, change=RunChange(), job=StatedJob(7))


def call(run: ExperimentRun) -> LoggedCall:
    now = timezone.now()
    return LoggedCall(run.owner, run.run_id, now, [Point("loss", 1, int(now.timestamp() * 1000), 0.5)])


def other_connection() -> psycopg.Connection[Any]:
    return psycopg.connect(**connection.get_connection_params())


def apart(pool: ThreadPoolExecutor, work: Callable[[], Any]) -> Future[Any]:
    """The work in another thread, with a connection of its own."""

    def done() -> Any:
        try:
            return work()
        finally:
            connection.close()

    return pool.submit(done)


def until_somebody_waits() -> None:
    """Until a statement of another connection waits for a row."""
    for _ in range(500):
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0]:
                return
        time.sleep(0.01)
    raise AssertionError("nobody waits")


@pytest.mark.parametrize("is_whole", [False, True])
def test_points_that_are_being_stored_are_deleted_with_their_run(alice: User, is_whole: bool) -> None:
    run = run_of(alice)
    with other_connection() as script, ThreadPoolExecutor(1) as pool:
        script.execute("SELECT 1 FROM jobs_experimentrun WHERE id = %s FOR KEY SHARE", [run.pk])
        script.execute(
            "INSERT INTO jobs_pointbatch (run_id, points, count, received_at) VALUES (%s, %s, 1, now())", [run.pk, b"x"]
        )
        work = (
            (lambda: delete_experiment(alice, run.experiment_id)) if is_whole else lambda: delete_run(alice, run.run_id)
        )
        deleted = apart(pool, work)
        until_somebody_waits()
        script.commit()
        assert deleted.result(PATIENCE_S) is None
    assert not ExperimentRun.objects.exists()
    assert not PointBatch.objects.exists()


def test_points_of_a_run_that_is_being_deleted_are_of_no_run_and_those_of_others_are_stored(alice: User) -> None:
    gone, other = run_of(alice), run_of(alice)
    RunJob.objects.all().delete()
    with other_connection() as deleter, ThreadPoolExecutor(1) as pool:
        deleter.execute("DELETE FROM jobs_experimentrun WHERE id = %s", [gone.pk])
        stored = apart(pool, lambda: store_calls([call(gone), call(other), call(gone)]))
        until_somebody_waits()
        deleter.commit()
        assert [type(why) for why in stored.result(PATIENCE_S)] == [NoSuchRun, type(None), NoSuchRun]
    assert PointBatch.objects.get().run_id == other.pk


def test_a_run_of_an_experiment_or_parent_that_is_being_deleted_is_not_started(alice: User) -> None:
    parent = run_of(alice)
    RunJob.objects.all().delete()
    for statement, error in (
        (f"DELETE FROM jobs_experimentrun WHERE id = {parent.pk}", NoSuchRun),
        (f"DELETE FROM jobs_experiment WHERE id = {parent.experiment_id}", NoSuchExperiment),
    ):
        with other_connection() as deleter, ThreadPoolExecutor(1) as pool:
            deleter.execute(statement)
            started = apart(
                pool,
                lambda: start_run(
                    alice, parent.experiment_id, timezone.now(), change=RunChange(), parent=parent.run_id
                ),
            )
            until_somebody_waits()
            deleter.commit()
            assert isinstance(started.exception(20), error)


@pytest.mark.parametrize("door", ["run", "experiment", "mlflow", "page"])
def test_what_is_deleted_while_scripts_log_is_deleted(alice: User, door: str) -> None:
    """Three scripts log until each is told that its run is gone; a worker sorts what they log."""
    secret = issue_token(alice, name="script", days=30, now=timezone.now(), kind=Token.Kind.RUNS)
    bearer = {"Authorization": f"Bearer {secret}"}
    runs = [run_of(alice) for _ in range(3)]
    experiment, gone = runs[0].experiment_id, runs if door in ("experiment", "page") else runs[:1]

    def log(run: ExperimentRun) -> set[int]:
        said: set[int] = set()
        while HTTPStatus.NOT_FOUND not in said and ExperimentRun.objects.filter(pk=gone[0].pk).exists():
            answer = Client(headers=bearer).post(
                f"/api/v1/runs/{run.run_id}/metrics", {"name": "loss", "value": 1}, content_type="application/json"
            )
            said.add(answer.status_code)
        return said

    def sort() -> None:
        while ExperimentRun.objects.filter(pk=gone[0].pk).exists():
            sort_points(10, timezone.now())

    with ThreadPoolExecutor(4) as pool:
        scripts = [apart(pool, lambda run=run: log(run)) for run in runs]
        worker = apart(pool, sort)
        while PointBatch.objects.count() + MetricSeries.objects.count() < 3:
            time.sleep(0.01)
        client = Client(headers=bearer)
        if door == "run":
            answer = client.delete(f"/api/v1/runs/{runs[0].run_id}")
        elif door == "experiment":
            answer = client.delete(f"/api/v1/experiments/{experiment}")
        elif door == "mlflow":
            path = "/mlflow/api/2.0/mlflow/runs/delete"
            answer = client.post(path, {"run_id": runs[0].run_id}, content_type="application/json")
        else:
            client = Client()
            client.force_login(alice)
            answer = client.post(f"/experiments/{experiment}/delete/", {"is_sure": "on"})
        assert answer.status_code == {"mlflow": 200, "page": 302}.get(door, 204)
        assert set().union(*(script.result(PATIENCE_S) for script in scripts)) <= {
            HTTPStatus.CREATED,
            HTTPStatus.NOT_FOUND,
        }
        worker.result(PATIENCE_S)
    assert ExperimentRun.objects.count() == len(runs) - len(gone)
    assert Experiment.objects.exists() is (len(gone) == 1)
