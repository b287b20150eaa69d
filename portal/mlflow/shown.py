"""Experiments and runs as MLflow's clients read them, and the pages of long answers."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.points import Digest
from jobs.experiments.rules import NAME_TAG
from jobs.experiments.status import Status
from portal.charts.logged_runs import json_number
from portal.mlflow.answers import invalid
from portal.mlflow.wire import milliseconds

ACTIVE = "active"
"""What is deleted here is gone: nothing is ever in MLflow's other stage."""

SHORT_ID_LENGTH = 8

Found = TypeVar("Found")

TOKEN = re.compile(r"[0-9]{1,9}")


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
        {"key": name, "value": json_number(last.last_value), "timestamp": last.last_ms, "step": last.last_step}
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


def page_of(
    found: Sequence[Found], token: str | None, wanted: int | None, count_max: int
) -> tuple[Sequence[Found], dict[str, str]]:
    """The page that begins where the token states, and the members of an answer that name the next one.

    Raises Refused.

    >>> page_of("abcde", "2", 2, 10), page_of("abcde", "4", None, 10)
    (('cd', {'next_page_token': '4'}), ('e', {}))
    """
    begin = begin_of(token)
    end = begin + size_of(wanted, count_max)
    return found[begin:end], next_page(end) if end < len(found) else {}


def begin_of(token: str | None) -> int:
    """The place that a token states. Raises Refused."""
    if not token:
        return 0
    if not TOKEN.fullmatch(token):
        raise invalid("The page token is not one that this portal gave.")
    return int(token)


def next_page(begin: int) -> dict[str, str]:
    """The member of an answer that names the page that begins there."""
    return {"next_page_token": str(begin)}


def size_of(wanted: int | None, count_max: int) -> int:
    """How many are in a page where a client wants this many. Raises Refused."""
    if wanted is None:
        return count_max
    if wanted < 1:
        raise invalid("max_results must be at least 1.")
    return min(wanted, count_max)
