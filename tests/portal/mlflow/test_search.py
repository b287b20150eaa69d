"""Searching runs: filtered and sorted by what they logged, by page, and only those that the caller sees."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.experiments.models import Experiment
from jobs.experiments.services.experiments import change_experiment
from jobs.experiments.services.points import sort_points
from jobs.models import Membership, Project, User
from portal.mlflow.wire import milliseconds
from tests.portal.mlflow.tracking import Tracking

pytestmark = pytest.mark.django_db

INVALID = (400, "INVALID_PARAMETER_VALUE")
RUNS = {
    "small": (4, {"lr": "0.1", "net": "vit"}, {"stage": "one"}, {"loss": 0.5, "acc": 0.8}),
    "large": (3, {"lr": "0.2", "net": "vit"}, {"stage": "two"}, {"loss": 0.3}),
    "broken": (2, {"lr": "0.1", "net": "bert"}, {}, {"loss": "NaN"}),
    "empty": (1, {}, {}, {}),
}
"""Hours ago, parameters, tags and metrics of each; the latest one is `empty`."""


@pytest.fixture
def experiment_id(script: Tracking) -> str:
    """The runs above; the metrics of half of them are sorted into their series already."""
    made = script.experiment()
    for place, (name, (hours, params, tags, metrics)) in enumerate(RUNS.items()):
        began = timezone.now() - timedelta(hours=hours)
        run_id = script.run(made, start_time=milliseconds(began), run_name=name)
        script.post("runs/log-batch", run_id=run_id, metrics=listed(metrics), params=listed(params), tags=listed(tags))
        if place == 1:
            sort_points(10, timezone.now())
        if name == "small":
            script.post("runs/update", run_id=run_id, status="FINISHED", end_time=milliseconds(began) + 1000)
    return made


def listed(members: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in members.items()]


def found(script: Tracking, experiment_id: str, filter_text: str = "", **members: Any) -> str:
    """The names of the runs of one answer."""
    answer = script.post("runs/search", experiment_ids=[experiment_id], filter=filter_text, **members)
    return " ".join(run["info"]["run_name"] for run in answer["runs"])


def test_the_latest_runs_come_first_with_all_that_they_logged(script: Tracking, experiment_id: str) -> None:
    assert found(script, experiment_id) == "empty broken large small"
    answer = script.post("runs/search", experiment_ids=[experiment_id], run_view_type="ACTIVE_ONLY")
    for run in answer["runs"]:
        assert run == script.get("runs/get", run_id=run["info"]["run_id"])["run"]


@pytest.mark.parametrize(
    ("filter_text", "names"),
    [
        ("metrics.loss < 0.6", "large small"),
        ("metrics.loss < 0.6 AND metrics.acc > 0", "small"),
        ("metrics.loss <= 0.3", "large"),
        ("params.net = 'vit' AND params.lr != '0.2'", "small"),
        ("params.net != 'vit'", "broken"),
        ("params.net LIKE 'V%'", ""),
        ("params.net ILIKE 'V%'", "large small"),
        ("params.net IS NULL", "empty"),
        ("tags.stage IN ('one', 'two')", "large small"),
        ("tags.mlflow.runName = 'large'", "large"),
        ("attributes.run_name LIKE '%e%'", "empty broken large"),
        ("status = 'FINISHED'", "small"),
        ("status != 'FINISHED' AND tags.stage = 'two'", "large"),
        ("user_id = 'alice' AND end_time > 0", "small"),
        ("start_time > 99999999999999", ""),
        ("artifact_uri LIKE 'mlflow-artifacts:/%' AND run_id LIKE '%'", "empty broken large small"),
        ("metrics.unheard-of != 1", ""),
    ],
)
def test_runs_are_filtered(script: Tracking, experiment_id: str, filter_text: str, names: str) -> None:
    assert found(script, experiment_id, filter_text) == names


@pytest.mark.parametrize(
    ("order_by", "names"),
    [
        (["metrics.loss"], "large small broken empty"),
        (["metrics.loss DESC"], "small large broken empty"),
        (["params.net", "params.lr DESC"], "broken large small empty"),
        (["attributes.start_time ASC"], "small large broken empty"),
        (["tags.stage DESC", "run_name"], "large small broken empty"),
        (["end_time"], "small empty broken large"),
    ],
)
def test_runs_are_sorted(script: Tracking, experiment_id: str, order_by: list[str], names: str) -> None:
    assert found(script, experiment_id, order_by=order_by) == names


@pytest.mark.parametrize("order_by", [[], ["start_time DESC"]])
@pytest.mark.parametrize("filter_text", ["", "run_id LIKE '%'"])
def test_runs_are_read_by_page(script: Tracking, experiment_id: str, order_by: list[str], filter_text: str) -> None:
    search = {"experiment_ids": [experiment_id], "filter": filter_text, "order_by": order_by, "max_results": 3}
    first = script.post("runs/search", **search)
    rest = script.post("runs/search", **search, page_token=first["next_page_token"])
    names = [[run["info"]["run_name"] for run in page["runs"]] for page in (first, rest)]
    assert names == [["empty", "broken", "large"], ["small"]]
    assert "next_page_token" not in rest


def test_a_page_of_much_text_ends_early_and_none_is_lost(script: Tracking, experiment_id: str, monkeypatch) -> None:
    monkeypatch.setattr("portal.mlflow.search.ANSWER_BYTES_MAX", 1)
    names, token = [], ""
    for _ in RUNS:
        page = script.post("runs/search", experiment_ids=[experiment_id], page_token=token)
        names += [run["info"]["run_name"] for run in page["runs"]]
        token = page.get("next_page_token", "")
    assert (names, token) == (["empty", "broken", "large", "small"], "")


def test_what_is_deleted_is_not_found_and_no_experiments_have_no_runs(script: Tracking, experiment_id: str) -> None:
    assert found(script, experiment_id, run_view_type="DELETED_ONLY") == ""
    assert script.post("runs/search") == {"runs": []}


def test_experiment_0_is_searched_where_it_exists(script: Tracking) -> None:
    assert found(script, "0") == ""
    assert not Experiment.objects.exists()
    script.run(run_name="default")
    assert found(script, "0") == "default"


@pytest.mark.parametrize(
    "search", [{"filter": "loss < 1"}, {"order_by": ["loss"]}, {"page_token": "-1"}, {"max_results": -1}, {"filter": 7}]
)
def test_a_search_that_is_none_is_invalid(script: Tracking, search: dict[str, Any]) -> None:
    assert script.refused("runs/search", experiment_ids=["0"], **search) == INVALID


def test_only_those_find_runs_who_see_their_experiment(
    script: Tracking, other: Tracking, alice: User, bob: User, experiment_id: str
) -> None:
    assert found(other, experiment_id) == ""
    project = Project.objects.create(name="project_1")
    for user in (alice, bob):
        Membership.objects.create(user=user, project=project, role="member")
    change_experiment(alice, int(experiment_id), timezone.now(), project="project_1", is_shared=True)
    assert found(other, experiment_id, "metrics.loss < 0.6") == "large small"


def test_a_page_of_more_runs_costs_no_more_queries(
    script: Tracking, experiment_id: str, django_assert_max_num_queries
) -> None:
    for _ in range(20):
        script.run(experiment_id)
    with django_assert_max_num_queries(20):
        found(script, experiment_id, "metrics.loss < 0.6 AND params.net = 'vit'", order_by=["metrics.loss"])
