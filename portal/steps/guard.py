"""The one place where a step is run: one that fails is counted, logged once, and stops no other."""

import logging
import time
from collections.abc import Iterable

from django.utils import timezone

from jobs.tallies.kinds import STEP_FAILURES, STEP_TIMES
from jobs.tallies.services import add
from jobs.tallies.services import begin as begin_counting
from portal.logs import during_task
from portal.steps.step import Step
from portal.troubles import present_trouble, trouble

log = logging.getLogger(__name__)


class NothingWorks(Exception):
    """The database is unreachable or stores nothing: every other step would only report the same."""


def begin(steps: Iterable[Step]) -> None:
    """As a worker starts: from now on a step that never ends is late, also where it never ended before."""
    begin_counting(STEP_TIMES, [step.name for step in steps])


def run(step: Step, most: int) -> int | None:
    """How much the step did, None if it failed: it runs again when it is due again. Raises NothingWorks.

    A connection that broke is replaced before the next round: by Celery before each task, by the local worker as it
    looks for changes.
    """
    began_s = time.monotonic()
    with during_task(step.name):
        try:
            done = step.run(most, timezone.now())
        except Exception as error:
            _note(step, error)
            return None
    add(STEP_TIMES.of(time.monotonic() - began_s, step.name))
    return done


def _note(step: Step, error: Exception) -> None:
    found = trouble(error)
    if found is None:
        log.exception("%s failed; it runs again when it is due", step.name)
        # An unreachable database could not count it either, and says nothing about the step.
        add(STEP_FAILURES.of(step.name))
    elif present_trouble() is None:
        log.error("%s", found.postpones(step.name))
    else:
        log.error("%s", found.postpones("background work"))
        raise NothingWorks from error
