"""MLflow's calls about experiments, single runs and their metrics; what is logged again and again is in `logged`."""

from datetime import datetime
from typing import Any

from jobs.experiments.limits import TAG_LENGTH_MAX
from jobs.experiments.models import ExperimentRun
from jobs.experiments.rules import NoSuchExperiment, shown_name
from jobs.experiments.selectors import began_at, digests_of, own_experiments, own_runs, series_of
from jobs.experiments.services.experiments import change_experiment, delete_experiment, make_experiment
from jobs.experiments.services.runs import RunChange, change_run, delete_run, remove_tag, start_run
from jobs.experiments.status import OPEN_REPORTS, Reported
from portal.charts.logged_runs import json_number
from portal.mlflow.answers import Code, Refused, invalid
from portal.mlflow.call import DEFAULT_ID, Call, checked_id
from portal.mlflow.shown import experiment_shown, info_of, page_of, run_shown
from portal.mlflow.wire import (
    ByName,
    CreateExperiment,
    CreateRun,
    ExperimentTag,
    History,
    OfExperiment,
    OfRun,
    Text,
    UpdateRun,
    instant,
    texts_of,
)
from wire.safe_text import printable

PARENT_TAG = "mlflow.parentRunId"
HISTORY_MAX = 25_000
"""Points of one answer, as clients request them."""

GONE = "What is deleted here is gone at once, and cannot be restored."


def create_run(call: Call) -> dict[str, Any]:
    """A new run. Called again because an answer was lost, it makes another one: the protocol has no way to tell."""
    sent = call.read(CreateRun)
    tags = texts_of(sent.tags, TAG_LENGTH_MAX, "tags")
    run = start_run(
        call.user,
        call.experiment_pk(sent.experiment_id or DEFAULT_ID),
        call.now,
        change=RunChange(name=sent.run_name or None, tags=tags),
        started_at=instant(sent.start_time, call.now),
        job=call.job,
        parent=_own_parent(call, tags.get(PARENT_TAG, "")),
    )
    return {"run": run_shown(run, {})}


def get_run(call: Call) -> dict[str, Any]:
    """A run that the caller sees."""
    run = call.seen_run(call.read(OfRun).run)
    return {"run": run_shown(run, digests_of([run])[run.pk])}


def update_run(call: Call) -> dict[str, Any]:
    """Status, end and name of an own run; a run that goes on does so in the job that the address states."""
    sent = call.read(UpdateRun)
    reported = _reported(sent.status)
    run = call.own_run(sent.run)
    change = RunChange(
        name=sent.run_name or None,
        reported=reported,
        ended_at=None if sent.end_time is None else _end(run, instant(sent.end_time, call.now), call.now),
    )
    run = change_run(call.user, run.run_id, change, call.now, call.job if reported in OPEN_REPORTS else None)
    return {"run_info": info_of(run)}


def remove_run(call: Call) -> dict[str, Any]:
    """An own run is deleted with everything that it logged."""
    delete_run(call.user, checked_id(call.read(OfRun).run))
    return {}


def delete_tag(call: Call) -> dict[str, Any]:
    """A tag of an own run is deleted."""
    sent = call.read(Text)
    name = printable(sent.key)
    if not remove_tag(call.user, checked_id(sent.run), name, call.now):
        raise Refused(Code.RESOURCE_DOES_NOT_EXIST, f"This run has no tag {name!r}.")
    return {}


def log_inputs(call: Call) -> dict[str, Any]:
    """Data sets and models of an own run are not kept; its script goes on."""
    call.own_run(call.read(OfRun).run)
    return {}


def metric_history(call: Call) -> dict[str, Any]:
    """The kept points of one metric in the order of their times."""
    sent = call.read(History)
    name, run = printable(sent.metric_key), call.seen_run(sent.run)
    series = series_of(run, [name]).get(name)
    if series is None:
        return {"metrics": []}
    page, members = page_of(range(len(series.points)), sent.page_token, sent.max_results, HISTORY_MAX)
    points = series.points
    metrics = [
        {
            "key": name,
            "value": json_number(float(points.values[place])),
            "timestamp": int(points.times_ms[place]),
            "step": int(points.steps[place]),
        }
        for place in page
    ]
    return {"metrics": metrics, **members}


def _own_parent(call: Call, run_id: str) -> str:
    """The run that this one is within, if there is such a run of the caller; else it stays a tag."""
    return run_id if run_id and own_runs(call.user).filter(run_id=printable(run_id)).exists() else ""


def _reported(status: str | None) -> Reported | None:
    if status is None:
        return None
    try:
        return Reported(status)
    except ValueError:
        raise invalid(f"{printable(status)!r} is not a status of a run; use {', '.join(Reported)}.") from None


def _end(run: ExperimentRun, ended_at: datetime, now: datetime) -> datetime:
    """When a run ended: not before it started, whatever the clocks of its nodes state."""
    is_sound = ended_at >= run.started_at or ended_at >= began_at(run)
    return ended_at if is_sound else max(now, run.started_at)


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
