"""`manage.py worker`: every step in one process, for a machine without Redis; Celery runs the same list."""

import math
import signal
import threading
import time
from contextlib import suppress
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, close_old_connections

from analysis.selectors import last_change
from jobs.models import Process
from jobs.processes.services import keep_saying
from portal.steps import all_steps
from portal.steps.guard import NothingWorks, begin, run
from portal.steps.step import OFTEN

LOOK_SECONDS = 1.0


class Command(BaseCommand):
    help = "Run every step of background work (docs/operations.md has the list), until the process is stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seconds", type=float, default=settings.STEP_SECONDS, help="pause between steps")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: stop.set())
        due_at: dict[str, float] = {}
        keep_saying(Process.Kind.WORKER)
        begin(all_steps.steps_in_use())
        while not stop.is_set():
            seen = changed_at()
            if not run_due(due_at):
                wait(stop, options["seconds"], seen)


def run_due(due_at: dict[str, float]) -> bool:
    """Run the steps that are due, in their order; whether one of them goes on at once, because much is due.

    `due_at` is when each is due next by this process's clock; the frequent ones are due whenever this is called.
    """
    is_more = False
    with suppress(NothingWorks):
        for step in all_steps.steps_in_use():
            if time.monotonic() < due_at.get(step.name, -math.inf):
                continue
            done = run(step, step.most_alone)
            is_much = bool(done and step.much and done >= step.much)
            is_more = is_more or is_much
            if step.every != OFTEN:
                due_at[step.name] = time.monotonic() + (0 if is_much else step.period_s)
    return is_more


def wait(stop: threading.Event, seconds: float, seen: datetime | None) -> None:
    """Pause for this time, or until something changed."""
    until = time.monotonic() + seconds
    while time.monotonic() < until and not stop.wait(min(LOOK_SECONDS, seconds)):
        if changed_at() != seen:
            return


def changed_at() -> datetime | None:
    """When something last changed; None while the database does not answer."""
    close_old_connections()
    try:
        return last_change()
    except DatabaseError:
        return None
