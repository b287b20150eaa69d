"""Steps of background work as tests run them: one by its name, or the frequent ones as either worker does."""

from __future__ import annotations

import math

from portal.management.commands.worker import run_due
from portal.steps import all_steps
from portal.steps.guard import run
from portal.steps.step import OFTEN
from portal.tasks import run_steps


def ran(name: str) -> int | None:
    """How much this step did; None if it failed."""
    (step,) = [step for step in all_steps.STEPS if step.name == name]
    return run(step, step.most_alone)


def often_local() -> None:
    """The frequent steps once, as the local worker runs them."""
    run_due({step.name: math.inf for step in all_steps.STEPS if step.every != OFTEN})


def often_celery() -> None:
    """The frequent steps once, as the task of Celery runs them."""
    run_steps(OFTEN)
