"""MLflow's calls about experiments."""

from __future__ import annotations

from typing import Any

from jobs.experiments.limits import TAG_LENGTH_MAX
from jobs.experiments.rules import NoSuchExperiment, shown_name
from jobs.experiments.selectors import own_experiments
from jobs.experiments.services.experiments import change_experiment, delete_experiment, make_experiment
from portal.mlflow.answers import invalid
from portal.mlflow.call import Call
from portal.mlflow.shown import experiment_shown
from portal.mlflow.wire import ByName, CreateExperiment, ExperimentTag, OfExperiment, texts_of

GONE = "What is deleted here is gone at once, and cannot be restored."


def get_experiment_by_name(call: Call) -> dict[str, Any]:
    """The caller's own experiment of this name: that of somebody else is another one."""
    name = shown_name(call.read(ByName).experiment_name)
    found = own_experiments(call.user).filter(name=name).first()
    if found is None:
        raise NoSuchExperiment
    return {"experiment": experiment_shown(found)}


def get_experiment(call: Call) -> dict[str, Any]:
    """An experiment that the caller sees."""
    return {"experiment": experiment_shown(call.seen_experiment(call.read(OfExperiment).experiment_id))}


def create_experiment(call: Call) -> dict[str, Any]:
    """A new experiment; RESOURCE_ALREADY_EXISTS makes the client read it again."""
    sent = call.read(CreateExperiment)
    made = make_experiment(call.user, sent.name, call.now, tags=texts_of(sent.tags, TAG_LENGTH_MAX, "tags"))
    return {"experiment_id": str(made.pk)}


def rename_experiment(call: Call) -> dict[str, Any]:
    """An own experiment gets another name."""
    sent = call.read(OfExperiment)
    change_experiment(call.user, call.experiment_pk(sent.experiment_id), call.now, name=sent.new_name)
    return {}


def tag_experiment(call: Call) -> dict[str, Any]:
    """An own experiment gets a tag."""
    sent = call.read(ExperimentTag)
    tags = texts_of([sent], TAG_LENGTH_MAX, "tags")
    change_experiment(call.user, call.experiment_pk(sent.experiment_id), call.now, tags=tags)
    return {}


def remove_experiment(call: Call) -> dict[str, Any]:
    """An own experiment is deleted with its runs."""
    delete_experiment(call.user, call.experiment_pk(call.read(OfExperiment).experiment_id))
    return {}


def restore(call: Call) -> dict[str, Any]:
    """Nothing can be restored, neither experiments nor runs."""
    raise invalid(GONE)
