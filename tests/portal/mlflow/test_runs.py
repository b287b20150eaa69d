"""MLflow's calls about runs: begun, read, ended, resumed, within another, in a job, deleted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone

from jobs.experiments.models import ExperimentRun, RunJob
from jobs.experiments.services.following import follow_runs
from portal.mlflow.wire import milliseconds
from tests.portal.mlflow.tracking import CALLS, Tracking, answered, stored, texts

pytestmark = pytest.mark.django_db

UNKNOWN = (404, "RESOURCE_DOES_NOT_EXIST")
INVALID = (400, "INVALID_PARAMETER_VALUE")
NOBODYS = "0" * 32


def just_now() -> datetime:
    return timezone.now().replace(microsecond=0)


def test_a_run_is_begun_and_read(script: Tracking) -> None:
    experiment_id, began = script.experiment(), just_now() - timedelta(minutes=1)
    made = script.post(
        "runs/create",
        experiment_id=experiment_id,
        user_id="somebody",
        start_time=milliseconds(began),
        run_name="first",
        tags=[{"key": "mlflow.user", "value": "somebody"}, {"key": "mlflow.runName", "value": "first"}],
    )["run"]
    run = ExperimentRun.objects.get()
    assert made["info"] == {
        "run_id": run.run_id,
        "run_uuid": run.run_id,
        "run_name": "first",
        "experiment_id": experiment_id,
        "user_id": "alice",
        "status": "RUNNING",
        "start_time": milliseconds(began),
        "artifact_uri": f"mlflow-artifacts:/{experiment_id}/{run.run_id}/artifacts",
        "lifecycle_stage": "active",
    }
    assert made["data"] == {
        "metrics": [],
        "params": [],
        "tags": [{"key": "mlflow.runName", "value": "first"}, {"key": "mlflow.user", "value": "somebody"}],
    }
    assert script.get("runs/get", run_id=run.run_id, run_uuid=run.run_id)["run"] == made
    assert script.get("runs/get", run_uuid=run.run_id)["run"] == made


def test_a_run_without_a_name_is_called_by_the_begin_of_its_identifier(script: Tracking) -> None:
    """Clients print the name in their links."""
    made = script.post("runs/create")["run"]
    assert made["info"]["run_name"] == made["info"]["run_id"][:8]
    assert stored(made["info"]["run_id"]).name == ""
    assert stored(made["info"]["run_id"]).experiment.name == "Default"


@pytest.mark.parametrize("start_time", [None, 0, 1795177, 10**30, -1, "9" * 100])
def test_a_run_that_began_at_no_possible_time_began_on_arrival(script: Tracking, start_time: object) -> None:
    before = timezone.now()
    run = stored(script.run(start_time=start_time))
    assert before <= run.started_at <= timezone.now()


def test_a_run_ends_with_its_status_and_time(script: Tracking) -> None:
    began, ended = just_now() - timedelta(minutes=5), just_now()
    run_id = script.run(start_time=milliseconds(began))
    info = script.post("runs/update", run_id=run_id, status="FAILED", end_time=milliseconds(ended))["run_info"]
    assert (info["status"], info["end_time"]) == ("FAILED", milliseconds(ended))
    assert (stored(run_id).status, stored(run_id).ended_at) == ("FAILED", ended)


@pytest.mark.parametrize("end_time", [1, 10**30])
def test_an_end_at_no_possible_time_is_on_arrival(script: Tracking, end_time: int) -> None:
    run_id, before = script.run(), timezone.now()
    script.post("runs/update", run_id=run_id, status="FINISHED", end_time=end_time)
    assert before <= stored(run_id).ended_at <= timezone.now()


def test_a_run_does_not_end_before_it_began(script: Tracking) -> None:
    """Clocks of two nodes: the end that is stated lies a minute before the beginning, an hour ahead of this clock."""
    began = just_now() + timedelta(hours=1)
    run_id = script.run(start_time=milliseconds(began))
    early = milliseconds(began - timedelta(minutes=1))
    script.post("runs/update", run_id=run_id, status="FINISHED", end_time=early)
    assert stored(run_id).ended_at == began


def test_a_run_is_resumed_and_renamed(script: Tracking) -> None:
    run_id = script.run(run_name="first")
    script.post("runs/update", run_id=run_id, status="FINISHED", end_time=milliseconds(just_now()))
    info = script.post("runs/update", run_id=run_id, status="RUNNING", run_name="second")["run_info"]
    assert (info["status"], info["run_name"]) == ("RUNNING", "second")
    assert "end_time" not in info


@pytest.mark.parametrize("status", ["", "LOST", "DONE", "running", 3])
def test_a_status_that_is_none_is_invalid(script: Tracking, status: object) -> None:
    assert script.refused("runs/update", run_id=script.run(), status=status) == INVALID


def test_a_run_that_was_not_heard_for_long_still_runs_for_its_client(script: Tracking) -> None:
    """System metrics stop where the status is not RUNNING, and MLflow has no word for it."""
    run_id = script.run(start_time=milliseconds(just_now() - timedelta(days=2)))
    follow_runs(10, timezone.now() + timedelta(days=2))
    assert stored(run_id).status == "LOST"
    assert script.get("runs/get", run_id=run_id)["run"]["info"]["status"] == "RUNNING"


def test_a_run_is_within_another_of_the_same_person(script: Tracking, other: Tracking) -> None:
    parent = script.run()
    tags = [{"key": "mlflow.parentRunId", "value": parent}]
    child = script.post("runs/create", tags=tags)["run"]
    assert stored(child["info"]["run_id"]).parent == stored(parent)
    assert texts(child["data"]["tags"])["mlflow.parentRunId"] == parent
    assert stored(other.run(tags=tags)).parent is None
    assert stored(script.run(tags=[{"key": "mlflow.parentRunId", "value": "\0\ud800"}])).parent is None


@pytest.mark.parametrize(
    ("job", "cluster", "job_id"), [("123456", "", 123456), ("lumi/123456", "lumi", 123456), ("0123", "", 123)]
)
def test_the_address_states_the_job_of_a_run(script: Tracking, job: str, cluster: str, job_id: int) -> None:
    run_id = script.within(job).run()
    found = RunJob.objects.get()
    assert (found.run.run_id, found.cluster, found.job_id) == (run_id, cluster, job_id)


def test_a_run_that_is_resumed_in_another_job_is_in_both(script: Tracking) -> None:
    run_id = script.within("1").run()
    script.within("2").post("runs/update", run_id=run_id, status="RUNNING")
    assert list(RunJob.objects.order_by("pk").values_list("job_id", flat=True)) == [1, 2]


def test_a_run_that_is_ended_or_read_from_another_job_is_not_in_it(script: Tracking) -> None:
    run_id = script.within("1").run()
    elsewhere = script.within("2")
    elsewhere.get("runs/get", run_id=run_id)
    elsewhere.post("runs/log-metric", run_id=run_id, key="loss", value=0.5)
    elsewhere.post("runs/update", run_id=run_id, status="FINISHED")
    assert RunJob.objects.get().job_id == 1


@pytest.mark.parametrize("at", ["/mlflow/j/", "/mlflow/j//", "/mlflow/j/0/"])
def test_outside_of_a_job_its_variables_are_empty_and_no_job_is_stated(script: Tracking, at: str) -> None:
    answer = Tracking(script.token, at).post("runs/create")
    assert answer["run"]["info"]["status"] == "RUNNING"
    assert not RunJob.objects.exists()


def test_a_run_is_deleted_for_good(script: Tracking) -> None:
    run_id = script.run()
    assert script.post("runs/delete", run_id=run_id) == {}
    assert script.refused("runs/get", "GET", run_id=run_id) == UNKNOWN


def test_a_tag_is_deleted_once(script: Tracking) -> None:
    run_id = script.run(tags=[{"key": "a", "value": "1"}])
    assert script.post("runs/delete-tag", run_id=run_id, key="a") == {}
    assert script.refused("runs/delete-tag", run_id=run_id, key="a") == UNKNOWN


def test_inputs_are_taken_and_not_kept(script: Tracking) -> None:
    assert script.post("runs/log-inputs", run_id=script.run(), datasets=[{"dataset": {"name": "a"}}], models=[]) == {}
    assert script.refused("runs/log-inputs", run_id=NOBODYS) == UNKNOWN


@pytest.mark.parametrize("run_id", [NOBODYS, "", "x", "\0", "A" * 32])
def test_a_run_that_is_none_of_the_caller_is_unknown(script: Tracking, run_id: str) -> None:
    for name in ("runs/update", "runs/delete", "runs/log-batch"):
        assert script.refused(name, run_id=run_id) == UNKNOWN
    if run_id != "\0":
        assert script.refused("runs/get", "GET", run_id=run_id) == UNKNOWN


def test_a_strangers_run_is_as_none(script: Tracking, other: Tracking) -> None:
    run_id = script.run()
    assert other.refused("runs/get", "GET", run_id=run_id) == UNKNOWN
    assert other.refused("metrics/get-history", "GET", run_id=run_id, metric_key="loss") == UNKNOWN
    for name in ("runs/update", "runs/delete", "runs/log-batch", "runs/log-inputs"):
        assert other.refused(name, run_id=run_id) == UNKNOWN
    assert other.refused("runs/set-tag", run_id=run_id, key="a", value="1") == UNKNOWN
    assert other.refused("runs/delete-tag", run_id=run_id, key="a") == UNKNOWN


@pytest.mark.parametrize(
    ("verb", "name"),
    [
        ("GET", "runs/create"),
        ("POST", "runs/get"),
        ("DELETE", "runs/delete"),
        ("PUT", "runs/log-batch"),
        ("POST", "logged-models"),
        ("POST", "registered-models/create"),
        ("POST", "runs/outputs"),
    ],
)
def test_a_call_that_is_not_served_is_named_so(script: Tracking, verb: str, name: str) -> None:
    assert script.refused(name, verb) == (404, "ENDPOINT_NOT_FOUND")


@pytest.mark.parametrize("path", ["api/3.0/mlflow/server-info", "api/2.0/preview/mlflow/runs/get", "version", "x/y"])
def test_an_address_that_is_not_served_is_named_so(script: Tracking, path: str) -> None:
    answer = script.sent("GET", path)
    assert (answer.status_code, answer.json()["error_code"]) == (404, "ENDPOINT_NOT_FOUND")


@pytest.mark.parametrize(
    "body", [b"", b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"tags": 7}', b"x" * (2**20 + 1)]
)
def test_a_body_that_is_no_call_is_invalid(script: Tracking, body: bytes) -> None:
    answer = script.sent("POST", f"{CALLS}runs/create", body)
    assert (answer.status_code, answer.json()["error_code"]) == (400, "INVALID_PARAMETER_VALUE")
    assert not ExperimentRun.objects.exists()


def test_a_body_of_a_megabyte_is_read(script: Tracking) -> None:
    body = b'{"experiment_id": "0", "new": "' + b"x" * (2**20 - 33) + b'"}'
    assert len(body) == 2**20
    answered(script.sent("POST", f"{CALLS}runs/create", body))


def test_only_so_many_runs_are_kept_and_the_client_learns_why(script: Tracking, monkeypatch) -> None:
    monkeypatch.setattr("jobs.experiments.services.runs.RUNS_MAX", 1)
    script.run()
    assert script.refused("runs/create", experiment_id="0") == INVALID


def test_the_times_of_answers_are_whole_milliseconds() -> None:
    assert milliseconds(datetime(1970, 1, 1, 0, 0, 1, 999, tzinfo=UTC)) == 1000
