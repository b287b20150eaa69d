"""Experiments and runs as MLflow's clients read them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.points import Digest
from jobs.experiments.rules import NAME_TAG
from jobs.experiments.status import Status
from portal.mlflow.wire import milliseconds, number

ACTIVE = "active"
"""What is deleted here is gone: nothing is ever in MLflow's other stage."""

SHORT_ID_LENGTH = 8


def experiment_shown(experiment: Experiment) -> dict[str, Any]:
    """An experiment with its tags."""
    return {
        "experiment_id": str(experiment.pk),
        "name": experiment.name,
        "artifact_location": artifact_root(experiment.pk),
        "lifecycle_stage": ACTIVE,
        "creation_time": milliseconds(experiment.created_at),
        "last_update_time": milliseconds(experiment.changed_at),
        "tags": _texts(experiment.tags),
    }


def run_shown(run: ExperimentRun, digests: Mapping[str, Digest]) -> dict[str, Any]:
    """A run with its parameters, tags and the last value of each metric."""
    metrics = [
        {"key": name, "value": number(last.last_value), "timestamp": last.last_ms, "step": last.last_step}
        for name, last in sorted(digests.items())
    ]
    tags = _texts({**run.tags, NAME_TAG: name_of(run)})
    return {"info": info_of(run), "data": {"metrics": metrics, "params": _texts(run.params), "tags": tags}}


def info_of(run: ExperimentRun) -> dict[str, Any]:
    """What identifies a run, its status and its times."""
    info = {
        "run_id": run.run_id,
        "run_uuid": run.run_id,
        "run_name": name_of(run),
        "experiment_id": str(run.experiment_id),
        "user_id": run.owner.username,
        "status": status_of(run),
        "start_time": milliseconds(run.started_at),
        "artifact_uri": artifact_uri(run),
        "lifecycle_stage": ACTIVE,
    }
    return info if run.ended_at is None else info | {"end_time": milliseconds(run.ended_at)}


def name_of(run: ExperimentRun) -> str:
    """The name of a run; clients print it in their links, so a run without one has the begin of its identifier."""
    return run.name or run.run_id[:SHORT_ID_LENGTH]


def status_of(run: ExperimentRun) -> str:
    """The status in MLflow's words, which has none for a run that was not heard for a while."""
    return Status.RUNNING.value if run.status == Status.LOST else run.status


def artifact_uri(run: ExperimentRun) -> str:
    """Where clients upload files of this run: through this portal."""
    return f"{artifact_root(run.experiment_id)}/{run.run_id}/artifacts"


def artifact_root(experiment_pk: int) -> str:
    """The same for an experiment."""
    return f"mlflow-artifacts:/{experiment_pk}"


def _texts(texts: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"key": name, "value": value} for name, value in sorted(texts.items())]
