"""Three runs of one experiment that differ in what a table sorts and narrows by."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client

from jobs.experiments.models import ExperimentRun
from jobs.experiments.status import Reported
from tests.portal.experiments.logged import BEGAN_AT, experiment_of, log_run

FALLING, RISING = (0.9, 0.5, 0.7), (0.1, 0.4)


@pytest.fixture
def runs(cast: Callable[[str], Client]) -> dict[str, ExperimentRun]:
    """Three runs an hour apart: learning rates 10, 9 and 1e-3, one without any loss."""
    cast("alice")
    experiment = experiment_of("alice")
    later = {name: BEGAN_AT + timedelta(hours=hour) for hour, name in enumerate(("a", "b", "c"))}
    logged = {
        "a": log_run(experiment, "a", job=None, params={"lr": "10", "net": "vit"}, metrics={"loss": FALLING}),
        "b": log_run(
            experiment,
            "b",
            job=None,
            params={"lr": "9", "net": "vit"},
            metrics={"loss": RISING},
            began_at=later["b"],
            reported=Reported.FAILED,
        ),
        "c": log_run(experiment, "c", job=None, params={"lr": "1e-3"}, metrics={}, began_at=later["c"]),
    }
    for number, run in enumerate(logged.values(), start=1):
        # Identifiers are random, and begin with the name of a run in one case of six.
        run.run_id = f"{number}{run.run_id[1:]}"
        run.save(update_fields=["run_id"])
    return logged
