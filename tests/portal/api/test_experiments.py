"""The portal's own calls about experiments and runs: what a script sends, who reads it, and what is not accepted."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from jobs.experiments.models import ExperimentRun, PointBatch
from jobs.experiments.services.following import follow_runs
from jobs.experiments.services.points import sort_points
from jobs.models import Token, User
from jobs.services import record_job
from jobs.tokens.services import issue_token
from tests.payloads import job_record

pytestmark = pytest.mark.django_db

EXPERIMENTS = "/api/v1/experiments/"
READ, SEND, RUNS = Token.Kind.READ, Token.Kind.SEND, Token.Kind.RUNS
Cast = Callable[[str], Client]


def token_of(name: str, kind: Token.Kind = Token.Kind.RUNS) -> Client:
    user = User.objects.get(username=name)
    secret = issue_token(user, name=f"{kind} of {name}", days=30, now=timezone.now(), kind=kind)
    return Client(headers={"Authorization": f"Bearer {secret}"})


def sent(client: Client, path: str, body: Any, method: str = "post") -> Any:
    content = body if isinstance(body, str | bytes) else json.dumps(body)
    return getattr(client, method)(path, content, content_type="application/json")


def made_run(client: Client, **body: Any) -> str:
    pk = sent(client, EXPERIMENTS, {"name": "vit"}).json()["experiment_id"]
    answer = sent(client, f"{EXPERIMENTS}{pk}/runs", body)
    assert answer.status_code == 201, answer.content
    return str(answer.json()["run_id"])


@pytest.fixture
def alice(cast: Cast) -> Client:
    return token_of("alice")


def test_a_script_logs_a_run_from_its_beginning_to_its_end(alice: Client) -> None:
    config = {"lr": 0.1, "model": {"depth": 12}}
    run = made_run(alice, slurm_job_id=123456, seed=7, config=config)
    points = [{"name": "loss", "value": 0.9, "step": 1}, {"name": "loss", "value": 0.5, "step": 2}]
    assert sent(alice, f"/api/v1/runs/{run}/metrics", points[0]).json() == {"accepted": 1, "rejected": []}
    assert sent(alice, f"/api/v1/runs/{run}/metrics", points[1:]).status_code == 201
    checkpoint = {"path": "/scratch/model.pt", "kind": "checkpoint", "step": 2}
    assert sent(alice, f"/api/v1/runs/{run}/artifacts", checkpoint).status_code == 201
    answer = sent(alice, f"/api/v1/runs/{run}", {"status": "FINISHED", "config": {"epochs": 3}}, "patch")
    found = answer.json()
    assert found["config"] == {"lr": "0.1", "model.depth": "12", "epochs": "3"}
    assert (found["status"], found["seed"], found["owner"]) == ("FINISHED", "7", "alice")
    assert found["metrics"]["loss"]["last_value"] == 0.5
    assert found["metrics"]["loss"]["most_step"] == 1
    assert found["jobs"] == [{"job_id": 123456, "cluster": None, "attempt": None, "state": None, "url": ""}]
    files = alice.get(f"/api/v1/runs/{run}/artifacts").json()
    assert [(file["path"], file["kind"], file["step"]) for file in files] == [("/scratch/model.pt", "checkpoint", 2)]
    (series,) = alice.get(f"/api/v1/runs/{run}/metrics?name=loss").json()
    assert [point["value"] for point in series["points"]] == [0.9, 0.5]


def test_a_known_name_is_the_same_experiment(alice: Client) -> None:
    first, again = (sent(alice, EXPERIMENTS, {"name": "vit"}) for _ in range(2))
    assert (first.status_code, again.status_code) == (201, 200)
    assert first.json()["experiment_id"] == again.json()["experiment_id"]


def test_values_that_json_does_not_have_are_texts_in_both_directions(alice: Client) -> None:
    run = made_run(alice)
    body = '[{"name": "loss", "value": NaN}, {"name": "loss", "value": "-Infinity", "step": 1}]'
    assert sent(alice, f"/api/v1/runs/{run}/metrics", body).status_code == 201
    (series,) = alice.get(f"/api/v1/runs/{run}/metrics").json()
    assert {point["value"] for point in series["points"]} == {"NaN", "-Infinity"}


def test_one_bad_point_does_not_affect_the_others(alice: Client) -> None:
    run = made_run(alice)
    points = [
        {"name": "loss", "value": 0.5},
        {"name": "", "value": 1},
        {"name": "loss"},
        {"name": "loss", "value": "high"},
        {"name": "loss", "value": 1, "step": 2**60},
    ]
    answer = sent(alice, f"/api/v1/runs/{run}/metrics", points)
    assert answer.status_code == 201
    assert answer.json()["accepted"] == 1
    assert [(each["index"], each["errors"][0]["path"]) for each in answer.json()["rejected"]] == [
        *((1, "name"), (2, ""), (3, "value"), (4, "step"))
    ]


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("", 400),
        ("{", 400),
        ("[]", 422),
        ('"loss"', 422),
        ('{"name": "loss"}', 422),
        ("[" * 100_000, 400),
        (b'{"name": "\xff", "value": 1}', 400),
        (json.dumps([{"name": "x", "value": 1}] * 10_001), 422),
        ("x" * (2**20 + 1), 413),
    ],
)
def test_a_body_without_any_sound_point_is_refused_by_its_kind(alice: Client, body: str | bytes, status: int) -> None:
    answer = sent(alice, f"/api/v1/runs/{made_run(alice)}/metrics", body)
    assert answer.status_code == status
    assert answer["Content-Type"].startswith("application/problem+json")
    assert not PointBatch.objects.exists()


def test_an_impossible_time_is_that_of_the_arrival_and_is_counted(alice: Client) -> None:
    run = made_run(alice)
    points = [
        {"name": "loss", "value": 1, "time": 12.5},
        {"name": "loss", "value": 2, "time": "2026-11-20T10:00:00Z"},
        {"name": "loss", "value": 3, "time": 9e99},
    ]
    assert sent(alice, f"/api/v1/runs/{run}/metrics", points).json()["accepted"] == 3
    assert ExperimentRun.objects.get(run_id=run).odd_times == 2


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"config": {"lr": "0.2"}}, "params.lr"),
        ({"status": "DONE"}, "status"),
        ({"ended_at": "1999-01-01T00:00:00Z", "status": "FINISHED"}, "ended_at"),
        ({"unknown": 1}, ""),
        ({"tags": {"x": "y" * 8001}}, "tags.x"),
    ],
)
def test_what_is_not_accepted_of_a_run_is_named_and_changes_nothing(
    alice: Client, body: dict[str, Any], path: str
) -> None:
    run = made_run(alice, config={"lr": "0.1"})
    answer = sent(alice, f"/api/v1/runs/{run}", body, "patch")
    assert answer.status_code == 422
    assert answer.json()["errors"][0]["path"] == path
    assert alice.get(f"/api/v1/runs/{run}").json()["config"] == {"lr": "0.1"}


@pytest.mark.parametrize(
    ("config", "path"),
    [
        ({"a.b": 1, "a": {"b": 2}}, "config.a.b"),
        ({"m": {"a": {"b.c": 1}, "a.b": {"c": {}}}}, "config.m.a.b.c"),
    ],
)
def test_members_of_a_configuration_that_get_the_same_name_are_refused(
    alice: Client, config: dict[str, Any], path: str
) -> None:
    """Neither is lost without a word."""
    pk = sent(alice, EXPERIMENTS, {"name": "vit"}).json()["experiment_id"]
    answer = sent(alice, f"{EXPERIMENTS}{pk}/runs", {"config": config})
    assert answer.status_code == 422
    assert answer.json()["errors"] == [{"path": path, "message": "is there twice"}]
    run = made_run(alice)
    assert sent(alice, f"/api/v1/runs/{run}", {"config": config}, "patch").status_code == 422


def test_the_record_of_the_job_decides_and_its_owner_gets_the_link(alice: Client, cast: Cast) -> None:
    run = made_run(alice, slurm_job_id=123456, started_at="2026-11-20T10:05:00Z")
    record_job(job_record(state="TIMEOUT"))
    follow_runs(10, timezone.now())
    found = alice.get(f"/api/v1/runs/{run}").json()
    assert (found["status"], found["status_by"], found["reported"]) == ("KILLED", "slurm", "RUNNING")
    assert found["ended_at"] == "2026-11-20T12:00:00Z"
    assert found["jobs"][0]["url"] == "/jobs/lumi/123456/"


def test_whose_token_or_session_reads_and_writes(cast: Cast) -> None:
    """bob is a member of alice's project, carol its PI, dave a stranger."""
    alice = token_of("alice")
    run = made_run(alice)
    pk = alice.get(f"/api/v1/runs/{run}").json()["experiment_id"]
    paths = (
        f"{EXPERIMENTS}{pk}",
        f"{EXPERIMENTS}{pk}/runs",
        f"{EXPERIMENTS}{pk}/runs.csv",
        *(f"/api/v1/runs/{run}{end}" for end in ("", "/metrics", "/metrics.csv", "/artifacts")),
    )

    def reading() -> dict[str, set[int]]:
        people = ("bob", "carol", "dave")
        return {name: {cast(name).get(path).status_code for path in paths} for name in people}

    assert reading() == {"bob": {404}, "carol": {404}, "dave": {404}}
    assert sent(alice, f"{EXPERIMENTS}{pk}", {"project": "project_465000001"}, "patch").status_code == 200
    assert reading() == {"bob": {404}, "carol": {200}, "dave": {404}}
    assert sent(alice, f"{EXPERIMENTS}{pk}", {"is_shared": True}, "patch").status_code == 200
    assert reading() == {"bob": {200}, "carol": {200}, "dave": {404}}
    carol = token_of("carol")
    for method, path, body in (
        ("patch", f"{EXPERIMENTS}{pk}", {"name": "mine"}),
        ("delete", f"{EXPERIMENTS}{pk}", {}),
        ("post", f"{EXPERIMENTS}{pk}/runs", {}),
        ("patch", f"/api/v1/runs/{run}", {"status": "FAILED"}),
        ("delete", f"/api/v1/runs/{run}", {}),
        ("post", f"/api/v1/runs/{run}/metrics", {"name": "loss", "value": 1}),
        ("post", f"/api/v1/runs/{run}/artifacts", {"path": "/x"}),
    ):
        assert sent(carol, path, body, method).status_code == 404, path
    assert alice.get(f"/api/v1/runs/{run}").json()["status"] == "RUNNING"


def test_a_member_who_sees_a_shared_run_gets_no_link_to_its_job(cast: Cast) -> None:
    alice = token_of("alice")
    run = made_run(alice, slurm_job_id=123456)
    record_job(job_record())
    follow_runs(10, timezone.now())
    pk = alice.get(f"/api/v1/runs/{run}").json()["experiment_id"]
    sent(alice, f"{EXPERIMENTS}{pk}", {"project": "project_465000001", "is_shared": True}, "patch")
    urls = {name: cast(name).get(f"/api/v1/runs/{run}").json()["jobs"][0]["url"] for name in ("bob", "carol")}
    assert urls == {"bob": "", "carol": "/jobs/lumi/123456/"}


def test_each_kind_of_token_does_what_it_is_for(cast: Cast) -> None:
    logs, reads, sends = (token_of("alice", kind) for kind in (RUNS, READ, SEND))
    run = made_run(logs)
    assert logs.get("/api/v1/jobs/").status_code == 403
    assert logs.get(EXPERIMENTS).status_code == 200
    assert reads.get(f"/api/v1/runs/{run}").status_code == 200
    assert sent(reads, EXPERIMENTS, {"name": "x"}).status_code == 403
    assert sent(reads, f"/api/v1/runs/{run}/metrics", {"name": "x", "value": 1}).status_code == 403
    assert sends.get(EXPERIMENTS).status_code == 403
    nobody = Client()
    assert nobody.get(EXPERIMENTS).status_code == 401
    assert sent(nobody, f"/api/v1/runs/{run}/metrics", {"name": "x", "value": 1}).status_code == 401


def test_the_runs_of_an_experiment_are_searched_and_sorted(alice: Client) -> None:
    pk = sent(alice, EXPERIMENTS, {"name": "vit"}).json()["experiment_id"]
    ids = [sent(alice, f"{EXPERIMENTS}{pk}/runs", {"name": name}).json()["run_id"] for name in ("base", "deep", "wide")]
    for run, loss in zip(ids, (0.3, "NaN", 0.1), strict=True):
        sent(alice, f"/api/v1/runs/{run}/metrics", {"name": "loss", "value": loss})
    sort_points(10, timezone.now())
    sent(alice, f"/api/v1/runs/{ids[1]}", {"status": "FAILED"}, "patch")

    def names(query: str) -> list[str]:
        return [run["name"] for run in alice.get(f"{EXPERIMENTS}{pk}/runs?{query}").json()["results"]]

    assert names("sort=loss") == ["wide", "base", "deep"]
    assert names("sort=-loss") == ["base", "wide", "deep"]
    assert names("sort=unknown") == ["wide", "deep", "base"]
    assert names("status=FAILED") == ["deep"]
    assert names("q=WI") == ["wide"]
    assert alice.get(f"{EXPERIMENTS}{pk}/runs?status=odd").status_code == 400


def test_what_no_sweep_sorted_yet_is_in_the_table_and_sorts_it(alice: Client) -> None:
    """The losses are 0.3, none and 0.1; the second point of the first run waits while its first is sorted."""
    pk = sent(alice, EXPERIMENTS, {"name": "vit"}).json()["experiment_id"]
    ids = [sent(alice, f"{EXPERIMENTS}{pk}/runs", {"name": name}).json()["run_id"] for name in ("base", "deep", "wide")]
    sent(alice, f"/api/v1/runs/{ids[0]}/metrics", {"name": "loss", "value": 0.05, "step": 1})
    sort_points(10, timezone.now())
    sent(alice, f"/api/v1/runs/{ids[0]}/metrics", {"name": "loss", "value": 0.3, "step": 2})
    sent(alice, f"/api/v1/runs/{ids[2]}/metrics", [{"name": "loss", "value": 0.1}, {"name": "acc", "value": "nan"}])
    for query, names in (("loss", ["wide", "base", "deep"]), ("-loss", ["base", "wide", "deep"])):
        found = alice.get(f"{EXPERIMENTS}{pk}/runs?sort={query}").json()
        assert ([run["name"] for run in found["results"]], found["count"]) == (names, 3)
    lines = b"".join(alice.get(f"{EXPERIMENTS}{pk}/runs.csv?sort=loss").streaming_content).decode()
    rows = list(csv.DictReader(io.StringIO(lines)))
    assert [(row["metric.loss.last"], row["metric.loss.least"]) for row in rows] == [
        ("0.1", "0.1"),
        ("0.3", "0.05"),
        ("", ""),
    ]
    assert rows[0]["metric.acc.last"] == "NaN"


def test_the_table_of_an_experiment_has_a_column_for_each_parameter_and_metric(alice: Client) -> None:
    run = made_run(alice, config={"lr": 0.1}, name="=cmd()")
    sent(alice, f"/api/v1/runs/{run}/metrics", [{"name": "loss", "value": 0.25, "step": 3}])
    sort_points(10, timezone.now())
    pk = alice.get(f"/api/v1/runs/{run}").json()["experiment_id"]
    lines = b"".join(alice.get(f"{EXPERIMENTS}{pk}/runs.csv").streaming_content).decode()
    (row,) = csv.DictReader(io.StringIO(lines))
    assert (row["config.lr"], row["metric.loss.last"], row["run_id"]) == ("0.1", "0.25", run)
    points = b"".join(alice.get(f"/api/v1/runs/{run}/metrics.csv").streaming_content).decode()
    assert points.splitlines()[1].startswith("loss,3,20")


def test_deleted_is_deleted(alice: Client) -> None:
    run = made_run(alice)
    pk = alice.get(f"/api/v1/runs/{run}").json()["experiment_id"]
    assert alice.delete(f"/api/v1/runs/{run}").status_code == 204
    assert alice.get(f"/api/v1/runs/{run}").status_code == 404
    assert alice.delete(f"{EXPERIMENTS}{pk}").status_code == 204
    assert alice.get(EXPERIMENTS).json()["count"] == 0


def test_a_token_of_a_closed_account_logs_nothing(cast: Cast) -> None:
    alice = token_of("alice")
    run = made_run(alice)
    User.objects.filter(username="alice").update(is_active=False)
    assert sent(alice, f"/api/v1/runs/{run}/metrics", {"name": "x", "value": 1}).status_code == 401
    assert alice.get(EXPERIMENTS).status_code == 401


def test_the_number_of_queries_does_not_grow_with_the_runs(
    alice: Client, django_assert_max_num_queries: Callable[[int], Any]
) -> None:
    run = made_run(alice)
    pk = alice.get(f"/api/v1/runs/{run}").json()["experiment_id"]
    for place in range(20):
        made = sent(alice, f"{EXPERIMENTS}{pk}/runs", {"name": str(place), "slurm_job_id": place + 1}).json()["run_id"]
        sent(alice, f"/api/v1/runs/{made}/metrics", {"name": "loss", "value": place})
    sort_points(50, timezone.now() + timedelta(seconds=1))
    with django_assert_max_num_queries(16):
        assert alice.get(f"{EXPERIMENTS}{pk}/runs").json()["count"] == 21
