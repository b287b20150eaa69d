"""Waking up the workers when something arrived: at most once a second, without delaying what arrives.

By the name of the task: no step is imported where only payloads are received.
"""

import logging
import time

from django.conf import settings
from kombu.exceptions import OperationalError

from portal.celery import application
from portal.steps.step import OFTEN, RUN_STEPS

GATHER_S = 1.0
"""Everything that arrives within this time is processed together."""

EXPIRES_S = 30
SILENT_S = 60.0
"""How long an unreachable broker is not tried again; meanwhile the beat wakes the workers."""

log = logging.getLogger(__name__)


class Nudges:
    """One for each process: when the next wake-up message may be sent."""

    def __init__(self) -> None:
        self.next_at_s = 0.0

    @property
    def is_due(self) -> bool:
        """Whether a message would be sent now. Without a broker the local worker checks by itself."""
        return bool(settings.REDIS_URL) and time.monotonic() >= self.next_at_s

    def arrived(self) -> None:
        """Something was committed."""
        if not self.is_due:
            return
        self.next_at_s = time.monotonic() + GATHER_S
        try:
            application.send_task(RUN_STEPS, (OFTEN,), countdown=GATHER_S, expires=EXPIRES_S, retry=False)
        except (OperationalError, OSError):
            self.next_at_s = time.monotonic() + SILENT_S
            log.warning("the broker is unreachable: workers find new data when the beat wakes them")


nudges = Nudges()
