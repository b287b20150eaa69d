"""One step of background work as a plain value: its name in words, what it runs, how often, and how much at a time."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings

Run = Callable[[int, datetime], int]
"""Does at most so much, of what is due at this moment; how much it did."""

OFTEN, NIGHTLY = "STEP_SECONDS", "every night"
RUN_STEPS = "portal.tasks.run_steps"
"""By these two names the ingest wakes a worker without importing any step."""

DAY_S = 86_400
SECONDS = "s"
ALONE_S = 5
"""As long may a step take that is bound in time, where one worker runs all of them: the rest waits meanwhile."""


@dataclass(frozen=True)
class Step:
    """What workers run regularly; those of the same period run in the order of the list.

    `every` names the setting with the seconds between two runs, or is NIGHTLY. One run does at most `most`, counted in
    `unit` (SECONDS: it starts nothing new after that); 0 is everything that is due. Where it did `much`, more is left:
    it goes on at once, and other workers join. Without one of the settings `needs` the step is not used. Celery ends
    it after `limit_s`.
    """

    name: str
    title: str
    run: Run
    every: str
    most: int = 0
    unit: str = ""
    much: int = 0
    needs: tuple[str, ...] = ()
    limit_s: int = 240

    @property
    def is_used(self) -> bool:
        """Whether this site has what the step needs."""
        return all(getattr(settings, name) for name in self.needs)

    @property
    def period_s(self) -> int:
        """Seconds from one run to the next."""
        return DAY_S if self.every == NIGHTLY else int(getattr(settings, self.every))

    @property
    def most_alone(self) -> int:
        """The bound where one worker runs every step."""
        return min(self.most, ALONE_S) if self.unit == SECONDS else self.most

    @property
    def first(self) -> int:
        """The bound of what a worker does before it calls another one."""
        return self.most if self.unit == SECONDS else self.much or self.most


def all_due(service: Callable[[datetime], int]) -> Run:
    """The step of a service that has no bound but what is due."""
    return lambda _, now: service(now)
