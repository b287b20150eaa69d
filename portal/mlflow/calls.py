"""Every call of MLflow's clients that is answered, but for what is logged again and again (`logged`)."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPMethod
from typing import Any

from portal.mlflow.answers import done, no_such_call
from portal.mlflow.artifacts import list_artifacts
from portal.mlflow.call import Call
from portal.mlflow.experiments import (
    create_experiment,
    get_experiment,
    get_experiment_by_name,
    remove_experiment,
    rename_experiment,
    restore,
    tag_experiment,
)
from portal.mlflow.runs import create_run, delete_tag, get_run, log_inputs, metric_history, remove_run, update_run
from portal.mlflow.search import search_experiments, search_runs
from portal.tracking.call import Answer

Answering = Callable[[Call], dict[str, Any]]

READING: dict[str, Answering] = {
    "experiments/get-by-name": get_experiment_by_name,
    "experiments/get": get_experiment,
    "runs/get": get_run,
    "metrics/get-history": metric_history,
    "artifacts/list": list_artifacts,
}
"""The calls with GET."""

WRITING: dict[str, Answering] = {
    "experiments/create": create_experiment,
    "experiments/search": search_experiments,
    "experiments/set-experiment-tag": tag_experiment,
    "experiments/update": rename_experiment,
    "experiments/delete": remove_experiment,
    "experiments/restore": restore,
    "runs/create": create_run,
    "runs/update": update_run,
    "runs/delete": remove_run,
    "runs/restore": restore,
    "runs/delete-tag": delete_tag,
    "runs/log-inputs": log_inputs,
    "runs/search": search_runs,
}
"""Those with POST."""


BY_METHOD = {HTTPMethod.GET.value: READING, HTTPMethod.POST.value: WRITING}


def answer(method: str, name: str, call: Call) -> Answer:
    """The answer to a call. Raises Refused and NotAccepted."""
    answering = BY_METHOD.get(method, {}).get(name)
    if answering is None:
        raise no_such_call(name)
    return done(answering(call))
