"""Rounds of background work, under Celery or in the local worker: how long each took, and that a worker is there."""

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
    """A task that says in one line why this server cannot do it now; the beat asks for it again."""

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
    """Count how long this round takes, or that it failed."""
    began_s = time.monotonic()
    try:
        yield
    except Exception as error:
        # A database that is away could not count that either.
        if trouble(error) is None:
            add(SWEEP_FAILURES.of(name))
        raise
    add(ROUNDS.of(time.monotonic() - began_s, name))


class KeepSeen(bootsteps.StartStopStep):
    """A Celery worker says that it is there, whatever the processes of its pool are at; they began before this."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, worker: WorkController, **options: Any) -> None:
        super().__init__(worker, **options)
        self.end: Callable[[], None] | None = None

    def start(self, worker: WorkController) -> None:
        self.end = keep_saying(Process.Kind.WORKER)

    def stop(self, worker: WorkController) -> None:
        if self.end is not None:
            self.end()
