"""What scripts log: metrics in every encoding, parameters that do not change, tags, batches, repeated calls."""

from __future__ import annotations

import json
import math
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from jobs.experiments.models import PointBatch
from jobs.experiments.services.points import sort_points
from portal.mlflow.wire import milliseconds
from tests.portal.mlflow.tracking import CALLS, Tracking, answered, error_of, stored, texts

pytestmark = pytest.mark.django_db

INVALID = (400, "INVALID_PARAMETER_VALUE")


@pytest.fixture
def run_id(script: Tracking) -> str:
    return script.run()


def now_ms() -> int:
    return milliseconds(timezone.now())


def history(script: Tracking, run_id: str, key: str = "loss", **query: Any) -> list[tuple[int, object]]:
    found = script.get("metrics/get-history", run_id=run_id, metric_key=key, **query)["metrics"]
    return [(each["step"], each["value"]) for each in found]


def last_values(script: Tracking, run_id: str) -> dict[str, object]:
    metrics = script.get("runs/get", run_id=run_id)["run"]["data"]["metrics"]
    return {each["key"]: each["value"] for each in metrics}


def test_a_metric_is_logged_and_read_before_and_after_it_is_sorted(script: Tracking, run_id: str) -> None:
    at_ms = now_ms()
    for step, value in enumerate((0.9, 0.5)):
        script.post("runs/log-metric", run_id=run_id, key="loss", value=value, timestamp=at_ms + step, step=step)
    for _ in range(2):
        assert script.get("metrics/get-history", run_id=run_id, metric_key="loss", max_results=25000) == {
            "metrics": [
                {"key": "loss", "value": 0.9, "timestamp": at_ms, "step": 0},
                {"key": "loss", "value": 0.5, "timestamp": at_ms + 1, "step": 1},
            ]
        }
        assert script.get("runs/get", run_id=run_id)["run"]["data"]["metrics"] == [
            {"key": "loss", "value": 0.5, "timestamp": at_ms + 1, "step": 1}
        ]
        sort_points(10, timezone.now())
    assert history(script, run_id, "accuracy") == []


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity"])
def test_what_json_has_no_numbers_for_is_text_in_both_directions(script: Tracking, run_id: str, value: str) -> None:
    script.post("runs/log-metric", run_id=run_id, key="loss", value=value, timestamp=now_ms(), step=1)
    for _ in range(2):
        assert history(script, run_id) == [(1, value)]
        assert last_values(script, run_id) == {"loss": value}
        sort_points(10, timezone.now())


def test_the_bare_words_that_python_writes_are_read_as_well(script: Tracking, run_id: str) -> None:
    body = json.dumps({"run_id": run_id, "key": "loss", "value": math.nan}).encode()
    assert b"NaN}" in body
    answered(script.sent("POST", f"{CALLS}runs/log-metric", body))
    assert last_values(script, run_id) == {"loss": "NaN"}


def test_64_bit_numbers_may_be_text(script: Tracking, run_id: str) -> None:
    """As clients of other languages write them."""
    at_ms = now_ms()
    script.post("runs/log-metric", run_uuid=run_id, key="loss", value="0.5", timestamp=str(at_ms), step="7")
    (found,) = script.get("metrics/get-history", run_id=run_id, metric_key="loss")["metrics"]
    assert found == {"key": "loss", "value": 0.5, "timestamp": at_ms, "step": 7}


def test_a_batch_of_a_new_client_is_stored_together(script: Tracking, run_id: str) -> None:
    """Version 3 adds members to each metric, which are ignored."""
    metrics = [
        {
            "key": name,
            "value": 1.5,
            "timestamp": now_ms(),
            "step": 3,
            "run_id": run_id,
            "model_id": "",
            "dataset_name": "",
        }
        for name in ("loss", "system/gpu_0_power")
    ]
    params, tags = [{"key": "lr", "value": "0.1"}], [{"key": "stage", "value": "one"}]
    assert script.post("runs/log-batch", run_id=run_id, metrics=metrics, params=params, tags=tags) == {}
    data = script.get("runs/get", run_id=run_id)["run"]["data"]
    assert last_values(script, run_id) == {"loss": 1.5, "system/gpu_0_power": 1.5}
    assert texts(data["params"]) == {"lr": "0.1"}
    assert texts(data["tags"])["stage"] == "one"
    assert PointBatch.objects.count() == 1
    assert script.post("runs/log-batch", run_id=run_id) == {}


def test_a_call_that_comes_again_counts_once(script: Tracking, run_id: str) -> None:
    """Clients repeat what got no answer, with NaN as well."""
    metrics = [{"key": "loss", "value": value, "timestamp": now_ms(), "step": 1} for value in ("NaN", 0.5)]
    for _ in range(3):
        script.post("runs/log-batch", run_id=run_id, metrics=metrics, params=[{"key": "lr", "value": "1"}])
    assert sorted(history(script, run_id), key=str) == [(1, "NaN"), (1, 0.5)]
    sort_points(10, timezone.now())
    script.post("runs/log-batch", run_id=run_id, metrics=metrics)
    assert len(history(script, run_id)) == 2


def test_a_time_that_cannot_be_is_that_of_arrival_and_is_counted(script: Tracking, run_id: str) -> None:
    """Seconds in place of milliseconds, a clock that is not set, one of next year, and none at all."""
    before_ms, next_year_ms = now_ms(), now_ms() + 366 * 86_400_000
    metrics = [
        {"key": f"loss_{place}", "value": 1.0, "timestamp": at, "step": 1}
        for place, at in enumerate((before_ms // 1000, 0, next_year_ms, 10**25, None))
    ]
    script.post("runs/log-batch", run_id=run_id, metrics=metrics)
    found = script.get("runs/get", run_id=run_id)["run"]["data"]["metrics"]
    assert len(found) == 5
    assert all(before_ms <= each["timestamp"] <= now_ms() for each in found)
    assert stored(run_id).odd_times == 4


def test_the_history_of_a_metric_is_read_by_page(script: Tracking, run_id: str) -> None:
    at_ms = now_ms()
    metrics = [{"key": "loss", "value": step, "timestamp": at_ms + step, "step": step} for step in range(5)]
    script.post("runs/log-batch", run_id=run_id, metrics=metrics)
    read, token = [], ""
    while True:
        query = {"page_token": token} if token else {}
        page = script.get("metrics/get-history", run_id=run_id, metric_key="loss", max_results=2, **query)
        read.append([each["step"] for each in page["metrics"]])
        token = page.get("next_page_token", "")
        if not token:
            break
    assert read == [[0, 1], [2, 3], [4]]


@pytest.mark.parametrize("query", [{"page_token": "x"}, {"max_results": "0"}, {"max_results": "many"}])
def test_a_page_that_is_none_is_invalid(script: Tracking, run_id: str, query: dict[str, str]) -> None:
    script.post("runs/log-metric", run_id=run_id, key="loss", value=1)
    assert script.refused("metrics/get-history", "GET", run_id=run_id, metric_key="loss", **query) == INVALID


def test_a_parameter_keeps_its_value_and_a_changed_one_is_refused(script: Tracking, run_id: str) -> None:
    for _ in range(2):
        assert script.post("runs/log-parameter", run_id=run_id, key="lr", value="0.1") == {}
    answer = script.sent("POST", f"{CALLS}runs/log-parameter", {"run_id": run_id, "key": "lr", "value": "0.2"})
    assert error_of(answer) == INVALID
    assert "lr" in answer.json()["message"]
    params = [{"key": "lr", "value": "0.3"}, {"key": "new", "value": "1"}]
    metrics = [{"key": "loss", "value": 1}]
    assert script.refused("runs/log-batch", run_id=run_id, params=params, metrics=metrics) == INVALID
    assert stored(run_id).params == {"lr": "0.1"}
    assert last_values(script, run_id) == {}


def test_one_parameter_has_no_two_values_in_one_batch(script: Tracking, run_id: str) -> None:
    params = [{"key": "lr", "value": "1"}, {"key": "lr", "value": "2"}]
    assert script.refused("runs/log-batch", run_id=run_id, params=params) == INVALID
    assert script.post("runs/log-batch", run_id=run_id, params=[params[0], params[0]]) == {}


def test_a_long_value_is_cut_and_may_be_logged_again(script: Tracking, run_id: str) -> None:
    for _ in range(2):
        script.post("runs/log-parameter", run_id=run_id, key="lr", value="x" * 7000)
        script.post("runs/set-tag", run_id=run_id, key="note", value="y" * 9000)
    assert stored(run_id).params == {"lr": "x" * 6000}
    assert stored(run_id).tags == {"note": "y" * 8000}


def test_a_tag_gets_the_new_value_and_that_of_the_name_renames(script: Tracking, run_id: str) -> None:
    for value in ("1", "2"):
        script.post("runs/set-tag", run_id=run_id, key="a", value=value)
    script.post("runs/log-batch", run_id=run_id, tags=[{"key": "mlflow.runName", "value": "named"}])
    run = script.get("runs/get", run_id=run_id)["run"]
    assert texts(run["data"]["tags"]) == {"a": "2", "mlflow.runName": "named"}
    assert run["info"]["run_name"] == "named"


def test_text_that_cannot_be_stored_is_stored_visibly(script: Tracking, run_id: str) -> None:
    script.post("runs/log-batch", run_id=run_id, params=[{"key": "a\0\u202e", "value": "b\0\ud800"}])
    script.post("runs/log-metric", run_id=run_id, key="loss\0", value=1)
    sort_points(10, timezone.now())
    assert stored(run_id).params == {"a\ufffd\ufffd": "b\ufffd\ufffd"}
    assert last_values(script, run_id) == {"loss\ufffd": 1}


@pytest.mark.parametrize(
    "metric",
    [
        {"key": "", "value": 1},
        {"key": "x" * 251, "value": 1},
        {"key": "a", "value": None},
        {"key": "a", "value": "much"},
        {"key": "a", "value": True},
        {"key": "a", "value": 1, "step": 2**53 + 1},
        {"key": "a", "value": 1, "step": 1.5},
        {"key": "a", "value": 1, "timestamp": "today"},
        {"value": 1},
        7,
    ],
)
def test_a_metric_that_is_none_is_invalid_and_nothing_of_its_batch_is_stored(
    script: Tracking, run_id: str, metric: object
) -> None:
    metrics = [{"key": "loss", "value": 1}, metric]
    assert script.refused("runs/log-batch", run_id=run_id, metrics=metrics) == INVALID
    assert last_values(script, run_id) == {}


@pytest.mark.parametrize(("name", "count_max"), [("metrics", 1000), ("params", 100), ("tags", 100)])
def test_a_batch_has_its_limits(script: Tracking, run_id: str, name: str, count_max: int) -> None:
    items = [{"key": f"k{place}", "value": 1 if name == "metrics" else "1"} for place in range(count_max + 1)]
    assert script.refused("runs/log-batch", run_id=run_id, **{name: items}) == INVALID
    assert script.post("runs/log-batch", run_id=run_id, **{name: items[:-1]}) == {}


def test_a_script_that_logs_is_heard(script: Tracking, run_id: str) -> None:
    run = stored(run_id)
    run.heard_at = timezone.now() - timedelta(hours=1)
    run.save()
    script.post("runs/log-metric", run_id=run_id, key="loss", value=1)
    assert stored(run_id).heard_at > timezone.now() - timedelta(minutes=1)
