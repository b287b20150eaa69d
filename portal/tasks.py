"""The steps of background work under Celery: a message for each period, and the beat that sends them.

Each step finds what is due in the database, so a message that is lost or late costs a short delay and nothing else.
Which beat sends: `portal/beat_lease.py`.
"""

import logging
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from celery import bootsteps, shared_task
from celery.schedules import crontab
from celery.worker import WorkController
from django.db import connection
from kombu.exceptions import OperationalError as BrokerError

from jobs.models import Process
from jobs.processes.services import keep_saying
from portal.celery import application
from portal.steps import all_steps
from portal.steps.guard import NothingWorks, begin, run
from portal.steps.step import NIGHTLY, RUN_STEPS, Step

AT_NIGHT = crontab(hour=3, minute=17)
"""At a time of day, not at an interval: with the loss of its host the beat forgets when it ran last."""

HAND_OVER_S = 60
"""After this long the rest of the steps go to a message of their own: each has most of its time limit."""

CALL_EXPIRES_S, EXPIRES_S = 30, 3600

KILL_AFTER_S = 60
"""A step that takes the end of its time for an error of a single piece, and hangs again, is ended with its process."""

log = logging.getLogger(__name__)


@shared_task(name=RUN_STEPS, acks_late=True, ignore_result=True, soft_time_limit=240)
def run_steps(every: str, first: str = "") -> None:
    """Run the steps of this period in their order, from the `first` on."""
    began_s = time.monotonic()
    with suppress(NothingWorks):
        for step in steps_of(every, first):
            if time.monotonic() - began_s > HAND_OVER_S and call(step, EXPIRES_S):
                return
            run_with_others(step)


def steps_of(every: str, first: str = "") -> list[Step]:
    """The steps of this period in their order, from the `first` on."""
    steps = [step for step in all_steps.steps_in_use() if step.every == every]
    names = [step.name for step in steps]
    return steps[names.index(first) if first in names else 0 :]


def run_with_others(step: Step) -> None:
    """Run a step; where much is due, another worker joins before this one goes on. Each calls one, so all free workers
    take part as long as there is something to do."""
    done = run(step, step.first)
    if done and step.much and done >= step.much:
        call(step, CALL_EXPIRES_S)
        if step.most > step.first:
            run(step, step.most - step.first)


def call(step: Step, expires_s: int) -> bool:
    """Have a worker run this step and those after it; without a broker the next beat does, and it is False."""
    try:
        run_steps.apply_async((step.every, step.name), retry=False, **_options(step.every, expires_s))
    except (BrokerError, OSError):
        log.warning("the broker is unreachable: due work waits for the next beat")
        return False
    return True


def beat_schedule() -> dict[str, dict[str, Any]]:
    """The beat's entries: one for each period that has steps."""
    return {step.every: _entry(step) for step in all_steps.steps_in_use()}


def _entry(step: Step) -> dict[str, Any]:
    # A wake-up message that no worker took before the next one comes has no value.
    expires_s = EXPIRES_S if step.every == NIGHTLY else step.period_s
    return {
        "task": RUN_STEPS,
        "args": (step.every,),
        "schedule": AT_NIGHT if step.every == NIGHTLY else step.period_s,
        "options": _options(step.every, expires_s),
    }


def _options(every: str, expires_s: int) -> dict[str, Any]:
    limit_s = max(step.limit_s for step in steps_of(every))
    return {"expires": expires_s, "soft_time_limit": limit_s, "time_limit": limit_s + KILL_AFTER_S}


class KeepSeen(bootsteps.StartStopStep):
    """A Celery worker reports that it is running, whatever the processes of its pool do; they started before this."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: WorkController, **options: Any) -> None:
        super().__init__(worker, **options)
        self.end: Callable[[], None] | None = None

    def start(self, worker: WorkController) -> None:
        begin(all_steps.steps_in_use())
        # Processes of the pool that start later must not find it open.
        connection.close()
        self.end = keep_saying(Process.Kind.WORKER)

    def stop(self, worker: WorkController) -> None:
        if self.end is not None:
            self.end()


application.conf.beat_schedule = beat_schedule()
