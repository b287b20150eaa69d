"""Points over the real server: what is acknowledged is stored once, whoever logs at the same time and whatever dies."""

from __future__ import annotations

import http.client
import json
import os
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection
from django.utils import timezone

from jobs.experiments.models import Artifact, ExperimentRun, MetricSeries
from jobs.experiments.selectors import series_of
from jobs.experiments.services.experiments import named_experiment
from jobs.experiments.services.points import sort_points
from jobs.experiments.services.runs import RunChange, start_run
from jobs.models import Token, User
from jobs.tokens.services import issue_token
from tests.portal.served import Answer, Server, database_environment, serving
from tests.processes import PATIENCE_S, wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    # Longer than other work on this machine takes, shorter than a test waits for an answer.
    return database_environment(tmp_path) | {"INGEST_PATIENCE_MS": "5000"}


@pytest.fixture
def server(environment: dict[str, str]) -> Iterator[Server]:
    with serving(environment, "--workers", "2") as started:
        alice = User.objects.create(username="alice")
        token = issue_token(alice, name="log", days=1, now=timezone.now(), kind=Token.Kind.RUNS)
        yield started.with_token(token)


def run_of(name: str = "alice") -> str:
    user, _ = User.objects.get_or_create(username=name)
    experiment, _ = named_experiment(user, "vit", timezone.now())
    return start_run(user, experiment.pk, timezone.now(), change=RunChange()).run_id


def log(server: Server, run: str, points: Any) -> Answer:
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    return server.ask(f"/api/v1/runs/{run}/metrics", "POST", json.dumps(points).encode(), **headers)


def stored_steps(run: str) -> list[int]:
    """The steps that are stored, each once, before and after they are sorted."""
    row = ExperimentRun.objects.get(run_id=run)
    before = series_of(row)["loss"].points.steps.tolist()
    while sort_points(100, timezone.now()):
        pass
    assert MetricSeries.objects.get(run=row).count == len(before)
    return before


def test_many_runs_log_at_once_and_each_point_is_stored_once(server: Server) -> None:
    """Eight scripts of fifty calls each, two of which log into the same run."""
    runs = [run_of() for _ in range(7)]

    def train(place: int) -> set[int]:
        run, offset = runs[place % 7], 50 * (place // 7)
        return {log(server, run, {"name": "loss", "value": 0.5, "step": offset + step}).status for step in range(50)}

    with ThreadPoolExecutor(8) as pool:
        statuses = set().union(*pool.map(train, range(8)))
    assert statuses == {201}
    assert sorted(stored_steps(runs[0])) == list(range(100))
    assert all(sorted(stored_steps(run)) == list(range(50)) for run in runs[1:])


def test_what_was_acknowledged_before_the_server_was_killed_is_there(
    server: Server, environment: dict[str, str]
) -> None:
    """A script logs step after step, each again until it is acknowledged; the server is killed half-way."""
    run, acknowledged, port = run_of(), [], server.port
    has_begun = threading.Event()

    def train() -> None:
        for step in range(200):
            point = {"name": "loss", "value": 1 / (step + 1), "step": step, "time": 1_763_634_000 + step}
            while True:
                try:
                    answer = log(server, run, point)
                except (OSError, http.client.HTTPException):
                    time.sleep(0.05)
                    continue
                if answer.status == 201:
                    break
            acknowledged.append(step)
            if step == 50:
                has_begun.set()

    script = threading.Thread(target=train, daemon=True)
    script.start()
    assert has_begun.wait(PATIENCE_S)
    os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait()
    with serving(environment, "--workers", "2", port=port):
        script.join(PATIENCE_S)
    assert acknowledged == list(range(200))
    assert sorted(stored_steps(run)) == list(range(200))


def test_a_locked_run_holds_up_no_other(server: Server) -> None:
    """Whoever changes the row of a run holds it; points of it and of others are stored meanwhile."""
    held, other = run_of(), run_of()
    with psycopg.connect(**connection.get_connection_params()) as holder:
        holder.execute("SELECT 1 FROM jobs_experimentrun WHERE run_id = %s FOR NO KEY UPDATE", [held])
        for run in (held, other):
            assert log(server, run, {"name": "loss", "value": 0.5}).status == 201
        holder.rollback()


def test_a_call_with_tags_waits_for_a_locked_run_and_holds_up_no_other(server: Server) -> None:
    """Its tags change the row that somebody holds: it alone is asked to try again, and then stored."""
    held, other = run_of(), run_of()
    body = json.dumps({"run_id": held, "key": "note", "value": "x"}).encode()
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"}
    path = "/mlflow/api/2.0/mlflow/runs/set-tag"
    with psycopg.connect(**connection.get_connection_params()) as holder, ThreadPoolExecutor(2) as pool:
        holder.execute("SELECT 1 FROM jobs_experimentrun WHERE run_id = %s FOR NO KEY UPDATE", [held])
        tagged = pool.submit(server.ask, path, "POST", body, **headers)
        assert log(server, other, {"name": "loss", "value": 0.5}).status == 201
        assert tagged.result().status == 503
        holder.rollback()
    assert server.ask(path, "POST", body, **headers).status == 200
    assert ExperimentRun.objects.get(run_id=held).tags == {"note": "x"}


def test_a_large_upload_of_mlflow_passes_through(server: Server) -> None:
    run = run_of()
    experiment = ExperimentRun.objects.get(run_id=run).experiment_id
    path = f"/mlflow/api/2.0/mlflow-artifacts/artifacts/{experiment}/{run}/artifacts"
    headers = {"Authorization": f"Bearer {server.token}", "Content-Type": "application/octet-stream"}
    for name, body in (("model.pt", b"\0" * 20 * 2**20), ("config.json", b"{}")):
        assert server.ask(f"{path}/{name}", "PUT", body, **headers).status == 200
    found = {file.path: (file.kind, file.size_bytes) for file in Artifact.objects.all()}
    assert found == {"model.pt": ("discarded", 20 * 2**20), "config.json": ("kept", 2)}


def test_a_slow_database_asks_to_try_again_and_what_comes_later_is_stored(server: Server) -> None:
    run = run_of()
    with psycopg.connect(**connection.get_connection_params()) as holder:
        holder.execute("LOCK TABLE jobs_pointbatch IN ACCESS EXCLUSIVE MODE")
        answer = log(server, run, {"name": "loss", "value": 0.5, "step": 1})
        assert answer.status == 503
        assert int(answer.headers["retry-after"]) > 0
        holder.rollback()
    wait_until("the database", lambda: log(server, run, {"name": "loss", "value": 0.4, "step": 2}).status == 201)
    assert 2 in stored_steps(run)


def test_the_two_servers_say_the_same(server: Server, client) -> None:
    run = run_of()
    for token, body in (
        (server.token, b'{"name": "loss", "value": 1, "time": 1763634000}'),
        (server.token, b"{"),
        (server.token, b'{"name": ""}'),
        (server.token, b" " * (2**20 + 1)),
        ("kaiku_log_wrong", b"{}"),
    ):
        path = f"/api/v1/runs/{run}/metrics"
        headers = {"Authorization": f"Bearer {token}"}
        asked = server.ask(path, "POST", body, **headers, **{"Content-Type": "application/json"})
        plain = client.generic("POST", path, body, content_type="application/json", headers=headers)
        assert (asked.status, json.loads(asked.body)) == (plain.status_code, json.loads(plain.content))
