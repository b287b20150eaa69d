"""MLflow's calls about experiments: found by name, made once, the default one, renamed, deleted for good."""

from __future__ import annotations

import pytest

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.services.experiments import change_experiment
from jobs.models import Membership, Project, User
from tests.portal.mlflow.tracking import Tracking, texts

pytestmark = pytest.mark.django_db

UNKNOWN = (404, "RESOURCE_DOES_NOT_EXIST")
INVALID = (400, "INVALID_PARAMETER_VALUE")


@pytest.fixture
def shared(alice: User, bob: User, script: Tracking) -> str:
    """An experiment that alice shares with bob, a member of her project."""
    project = Project.objects.create(name="project_1")
    for user in (alice, bob):
        Membership.objects.create(user=user, project=project, role="member")
    made = Experiment.objects.get(pk=script.experiment("shared"))
    change_experiment(alice, made.pk, made.created_at, project="project_1", is_shared=True)
    return str(made.pk)


def test_what_a_client_does_to_set_an_experiment(script: Tracking) -> None:
    """get-by-name finds nothing, create, get: the answers are ids as strings and whole milliseconds."""
    assert script.refused("experiments/get-by-name", "GET", experiment_name="vit") == UNKNOWN
    experiment_id = script.experiment("vit")
    found = script.get("experiments/get", experiment_id=experiment_id)["experiment"]
    assert found == script.get("experiments/get-by-name", experiment_name=" vit ")["experiment"]
    assert found["experiment_id"] == experiment_id == str(Experiment.objects.get().pk)
    assert (found["name"], found["lifecycle_stage"]) == ("vit", "active")
    assert found["artifact_location"] == f"mlflow-artifacts:/{experiment_id}"
    assert isinstance(found["creation_time"], int)


def test_a_name_is_taken_once_by_each_person(script: Tracking, other: Tracking) -> None:
    """The code makes a client read the experiment that another process made meanwhile."""
    experiment_id = script.experiment("vit")
    assert script.refused("experiments/create", name="vit") == (400, "RESOURCE_ALREADY_EXISTS")
    assert other.refused("experiments/get-by-name", "GET", experiment_name="vit") == UNKNOWN
    assert other.experiment("vit") != experiment_id


@pytest.mark.parametrize("name", ["", "x" * 257, 7, None])
def test_a_name_that_is_none_is_invalid(script: Tracking, name: object) -> None:
    assert script.refused("experiments/create", name=name) == INVALID


def test_experiment_0_is_the_default_one_of_each_person(script: Tracking, other: Tracking) -> None:
    found = script.get("experiments/get", experiment_id="0")["experiment"]
    assert found["name"] == "Default"
    assert script.get("experiments/get", experiment_id="0")["experiment"] == found
    assert script.get("experiments/get-by-name", experiment_name="Default")["experiment"] == found
    assert other.get("experiments/get", experiment_id="0")["experiment"]["experiment_id"] != found["experiment_id"]


@pytest.mark.parametrize("experiment_id", ["", "x", "-1", "9" * 18, "9" * 30, "\0", "1.0"])
def test_an_identifier_that_is_none_is_of_no_experiment(script: Tracking, experiment_id: str) -> None:
    assert script.refused("experiments/delete", experiment_id=experiment_id) == UNKNOWN
    assert script.post("runs/search", experiment_ids=[experiment_id]) == {"runs": []}


def test_tags_of_an_experiment_get_new_values(script: Tracking) -> None:
    made = script.post("experiments/create", name="vit", tags=[{"key": "a", "value": "1"}])
    for value in ("2", "x" * 9000):
        script.post("experiments/set-experiment-tag", experiment_id=made["experiment_id"], key="b", value=value)
    found = script.get("experiments/get", experiment_id=made["experiment_id"])["experiment"]
    assert texts(found["tags"]) == {"a": "1", "b": "x" * 8000}


def test_an_experiment_is_renamed_but_not_to_a_taken_name(script: Tracking) -> None:
    first, _ = script.experiment("first"), script.experiment("second")
    assert script.post("experiments/update", experiment_id=first, new_name="third") == {}
    assert script.get("experiments/get", experiment_id=first)["experiment"]["name"] == "third"
    taken = script.refused("experiments/update", experiment_id=first, new_name="second")
    assert taken == (400, "RESOURCE_ALREADY_EXISTS")


def test_what_is_deleted_is_gone(script: Tracking) -> None:
    experiment_id = script.experiment()
    run_id = script.run(experiment_id)
    assert script.post("experiments/delete", experiment_id=experiment_id) == {}
    assert not Experiment.objects.exists()
    assert not ExperimentRun.objects.exists()
    assert script.refused("experiments/restore", experiment_id=experiment_id) == INVALID
    assert script.refused("runs/restore", run_id=run_id) == INVALID


def test_a_colleague_reads_a_shared_experiment_and_changes_nothing(shared: str, other: Tracking) -> None:
    assert other.get("experiments/get", experiment_id=shared)["experiment"]["name"] == "shared"
    assert other.refused("experiments/update", experiment_id=shared, new_name="mine") == UNKNOWN
    assert other.refused("experiments/delete", experiment_id=shared) == UNKNOWN
    assert other.refused("runs/create", experiment_id=shared) == UNKNOWN


def test_a_strangers_experiment_is_as_none(script: Tracking, other: Tracking) -> None:
    experiment_id = script.experiment()
    assert other.refused("experiments/get", "GET", experiment_id=experiment_id) == UNKNOWN
    assert other.refused("experiments/delete", experiment_id=experiment_id) == UNKNOWN
    assert other.post("experiments/search") == {"experiments": []}


def names(found: dict) -> list[str]:
    return [each["name"] for each in found["experiments"]]


def test_experiments_are_searched_by_name_and_tag(script: Tracking, shared: str) -> None:
    for name, kind in (("vit-small", "net"), ("vit-large", "net"), ("bert", "text")):
        script.post("experiments/create", name=name, tags=[{"key": "kind", "value": kind}])
    search = script.post("experiments/search", filter="name LIKE 'vit%' AND tags.kind = 'net'", order_by=["name"])
    assert names(search) == ["vit-large", "vit-small"]
    first = script.post("experiments/search", order_by=["name DESC"], max_results=3)
    assert names(first) == ["vit-small", "vit-large", "shared"]
    rest = script.post("experiments/search", order_by=["name DESC"], page_token=first["next_page_token"])
    assert names(rest) == ["bert"]
    assert "next_page_token" not in rest
    assert names(script.post("experiments/search", filter="tags.kind IS NULL")) == ["shared"]
    assert names(script.post("experiments/search", view_type="DELETED_ONLY")) == []
    assert names(script.post("experiments/search"))[0] == "bert"  # the last changed one


def test_metrics_are_no_columns_of_experiments(script: Tracking) -> None:
    assert script.refused("experiments/search", filter="metrics.loss < 1") == INVALID
