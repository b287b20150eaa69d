"""Waking up the workers when something arrived: at most once a second, without delaying what arrives."""

from __future__ import annotations

import logging
import time

from django.conf import settings
from kombu.exceptions import OperationalError

from portal.tasks import follow_up

GATHER_S = 1.0
"""Everything that arrives within this time is processed together."""

EXPIRES_S = 30
SILENT_S = 60.0
"""How long an unreachable broker is not tried again; meanwhile the beat's sweeps do the work."""

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
            follow_up.apply_async(countdown=GATHER_S, expires=EXPIRES_S, retry=False)
        except (OperationalError, OSError):
            self.next_at_s = time.monotonic() + SILENT_S
            log.warning("the broker is unreachable: workers find new data in their next sweep")


nudges = Nudges()
