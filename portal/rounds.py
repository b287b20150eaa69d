"""Rounds of background work, under Celery or in the local worker: how long each took, and that a worker is running."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from celery import Task, bootsteps
from celery.worker import WorkController

from jobs.models import Process
from jobs.processes.services import keep_saying
from jobs.tallies.kinds import ROUNDS, SWEEP_FAILURES
from jobs.tallies.services import add
from portal.troubles import trouble

log = logging.getLogger(__name__)


class Work(Task):
    """A task that logs in one line why the server cannot work now; the beat schedules it again."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            with a_round(self.name.rpartition(".")[2]):
                return self.run(*args, **kwargs)
        except Exception as error:
            found = trouble(error)
            if found is None:
                raise
            log.error("%s", found.postpones(self.name))
            return None


@contextmanager
def a_round(name: str) -> Iterator[None]:
    """Measure the duration of this round, or count its failure."""
    began_s = time.monotonic()
    try:
        yield
    except Exception as error:
        # An unreachable database could not count that either.
        if trouble(error) is None:
            add(SWEEP_FAILURES.of(name))
        raise
    add(ROUNDS.of(time.monotonic() - began_s, name))


class KeepSeen(bootsteps.StartStopStep):
    """A Celery worker reports that it is running, whatever the processes of its pool do; they started before this."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: WorkController, **options: Any) -> None:
        super().__init__(worker, **options)
        self.end: Callable[[], None] | None = None

    def start(self, worker: WorkController) -> None:
        self.end = keep_saying(Process.Kind.WORKER)

    def stop(self, worker: WorkController) -> None:
        if self.end is not None:
            self.end()
