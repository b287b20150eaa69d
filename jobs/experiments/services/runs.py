"""Writing runs: their beginning, what their script reports of them, and their end."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from jobs.experiments.limits import RUNS_MAX
from jobs.experiments.models import RUN_ID_LENGTH, Experiment, ExperimentRun, RunJob
from jobs.experiments.rules import (
    JOB_TAGS,
    NAME_TAG,
    NoSuchRun,
    NotAccepted,
    is_possible,
    job_number,
    shown_name,
    with_params,
    with_tags,
)
from jobs.experiments.selectors import began_at, own_run
from jobs.experiments.services.locks import all_locked, locked_experiment, locked_run
from jobs.experiments.status import OPEN_REPORTS, Reported, Status
from jobs.models import User

IMPOSSIBLE_TIME = "is not a possible time of a run"


@dataclass(frozen=True)
class StatedJob:
    """A job as a script states it; an empty cluster is any."""

    job_id: int
    cluster: str = ""


@dataclass(frozen=True)
class RunChange:
    """What a script reports of its run; None is not reported. `params` stay as they are, `tags` are replaced."""

    name: str | None = None
    reported: Reported | None = None
    ended_at: datetime | None = None
    params: Mapping[str, str] | None = None
    tags: Mapping[str, str] | None = None
    seed: str | None = None


def start_run(
    user: User,
    experiment_pk: int,
    now: datetime,
    *,
    change: RunChange,
    started_at: datetime | None = None,
    job: StatedJob | None = None,
    parent: str = "",
) -> ExperimentRun:
    """A new run in an own experiment. Raises NotAccepted."""
    if not is_possible(started_at, now):
        raise NotAccepted([("started_at", IMPOSSIBLE_TIME)])
    with transaction.atomic():
        # Whoever starts runs of one experiment at once waits here: their number is limited.
        experiment = locked_experiment(user, experiment_pk)
        if ExperimentRun.objects.filter(owner=user).count() >= RUNS_MAX:
            raise NotAccepted([("", f"a person has at most {RUNS_MAX:,} runs; delete some first")])
        reported = change.reported or Reported.RUNNING
        run = ExperimentRun(
            run_id=secrets.token_hex(RUN_ID_LENGTH // 2),
            experiment=experiment,
            owner=user,
            parent=locked_run(user, parent) if parent else None,
            reported=reported,
            status=Status(reported),
            started_at=started_at or now,
            created_at=now,
            heard_at=now,
            reported_at=now,
        )
        _apply(run, change, now)
        run.save()
        state_jobs(run, job, now)
        Experiment.objects.filter(pk=experiment.pk).update(changed_at=now)
    return run


def change_run(
    user: User, run_id: str, change: RunChange, now: datetime, job: StatedJob | None = None
) -> ExperimentRun:
    """Store what a script reports of its run. Raises NotAccepted."""
    with transaction.atomic():
        run = locked_run(user, run_id)
        _apply(run, change, now)
        run.heard_at = now
        run.save()
        state_jobs(run, job, now)
    return run


def remove_tag(user: User, run_id: str, name: str, now: datetime) -> bool:
    """Remove a tag of a run; False where it has none of that name. Raises NoSuchRun."""
    with transaction.atomic():
        run = locked_run(user, run_id)
        if name not in run.tags:
            return False
        del run.tags[name]
        run.heard_at = now
        run.save(update_fields=["tags", "heard_at"])
    return True


def delete_run(user: User, run_id: str) -> None:
    """Delete a run with everything that it logged; runs within it stay. Raises NoSuchRun."""
    with transaction.atomic():
        # Whoever logs at the same time waits and finds it gone, or was first and is deleted with it.
        if not all_locked(ExperimentRun.objects.filter(owner=user, run_id=run_id)):
            raise NoSuchRun
        own_run(user, run_id).delete()


def state_jobs(run: ExperimentRun, job: StatedJob | None, now: datetime) -> None:
    """Store the job that a script states, or that its tags or an all-digit name state; a sweep links its record.

    Whether it is a job of the run's owner is decided by that record alone.
    """
    stated = job or _stated_by_texts(run)
    if stated is None:
        return
    known = run.run_jobs.order_by("-stated_at", "-pk").first()
    if known is None or (known.job_id, known.cluster) != (stated.job_id, stated.cluster):
        RunJob.objects.create(run=run, cluster=stated.cluster, job_id=stated.job_id, stated_at=now)


def _stated_by_texts(run: ExperimentRun) -> StatedJob | None:
    """The job that a run's tags state; a name of digits alone is one as well (the guides of CSC and LUMI)."""
    if run.pk and run.run_jobs.exists():
        return None
    texts = (*(run.tags.get(name, "") for name in JOB_TAGS), run.name)
    number = next(filter(None, map(job_number, map(str, texts))), None)
    return StatedJob(number) if number else None


def _apply(run: ExperimentRun, change: RunChange, now: datetime) -> None:
    """Set what is reported on the row. Raises NotAccepted."""
    if not is_possible(change.ended_at, now):
        raise NotAccepted([("ended_at", IMPOSSIBLE_TIME)])
    if change.ended_at and change.ended_at < run.started_at and not (run.pk and change.ended_at >= began_at(run)):
        raise NotAccepted([("ended_at", "is before the run started")])
    tags = dict(change.tags or {})
    tagged = tags.pop(NAME_TAG, None)
    name = tagged if change.name is None else change.name
    if name is not None:
        run.name = shown_name(name)
    if change.seed is not None:
        run.seed = change.seed
    if change.params:
        run.params = with_params(run.params, change.params)
    if tags:
        run.tags = with_tags(run.tags, tags)
    if change.reported is not None:
        _report(run, change.reported, change.ended_at, now)


def _report(run: ExperimentRun, reported: Reported, ended_at: datetime | None, now: datetime) -> None:
    """The status that the script reports, as it stands until Slurm's word is considered."""
    is_open = reported in OPEN_REPORTS
    end_at = None if is_open else ended_at or max(now, run.started_at)
    columns: dict[str, Any] = {
        "reported": reported,
        "reported_at": now,
        "reported_end_at": end_at,
        "status": Status(reported),
        "is_by_slurm": False,
        # Before its start only until the points are sorted that it begins with.
        "ended_at": end_at and max(end_at, run.started_at),
        "job_revision": None,
    }
    for name, value in columns.items():
        setattr(run, name, value)
