"""Locking the rows of experiments and runs: an experiment before its runs, and runs in the order of their keys."""

from collections.abc import Collection

from django.db import connection
from django.db.models import QuerySet

from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.rules import NoSuchExperiment, NoSuchRun
from jobs.experiments.selectors import own_experiment, own_runs
from jobs.models import User


def locked_experiment(user: User, pk: int) -> Experiment:
    """An own experiment, locked for this transaction. Raises NoSuchExperiment."""
    if Experiment.objects.select_for_update(of=("self",)).filter(owner=user, pk=pk).first() is None:
        raise NoSuchExperiment
    return own_experiment(user, pk)


def all_locked(runs: QuerySet[ExperimentRun]) -> list[int]:
    """The keys of these runs, each locked against whatever logs to it too; in the order in which calls lock theirs."""
    return list(runs.order_by("pk").select_for_update(of=("self",)).values_list("pk", flat=True))


def locked_run(user: User, run_id: str) -> ExperimentRun:
    """An own run, locked for this transaction. Raises NoSuchRun."""
    run = own_runs(user).select_for_update(no_key=True, of=("self",)).filter(run_id=run_id).first()
    if run is None:
        raise NoSuchRun
    return run


def held_runs(run_ids: Collection[str]) -> list[ExperimentRun]:
    """Those of these runs that are there, and stay until this transaction ends; others may change them meanwhile."""
    rows = ExperimentRun.objects.filter(run_id__in=run_ids).only("pk", "run_id", "owner", "heard_at").order_by("pk")
    if not run_ids or not connection.features.has_select_for_no_key_update:
        return list(rows)
    # The lock that a foreign key takes of what it names, taken before anything is stored.
    statement, values = rows.query.sql_with_params()
    return list(ExperimentRun.objects.raw(f"{statement} FOR KEY SHARE", values))
