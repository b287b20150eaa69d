"""Celery's beat without a file: any number of workers may have one, but only the one that holds the lease sends."""

import logging
from typing import Any

import redis
from celery.beat import ScheduleEntry, Scheduler
from django.conf import settings
from redis.exceptions import RedisError

from jobs.processes.names import this_process

LEASE = "kaiku:beat"
"""The key in Redis; its value names the process that sends."""

LEASE_S = 2 * settings.STEP_SECONDS + 5
"""Renewed with every sweep; this long after its holder ends another beat takes over."""

TIMEOUT_S = 5

log = logging.getLogger(__name__)


class OneBeat(Scheduler):
    """Every beat keeps the schedule; the one whose lease is in Redis sends what is due."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        store = redis.from_url(settings.CELERY_BROKER_URL, socket_timeout=TIMEOUT_S, socket_connect_timeout=TIMEOUT_S)
        self.lease = store.lock(LEASE, timeout=LEASE_S, blocking=False)

    def apply_entry(self, entry: ScheduleEntry, producer: Any = None) -> None:
        try:
            is_ours = self._is_ours()
        except RedisError as error:
            log.error("the broker is unreachable: %s waits for the next beat (%s)", entry.name, type(error).__name__)
            return
        if is_ours:
            super().apply_entry(entry, producer)

    def close(self) -> None:
        """A beat that ends normally releases the lease at once."""
        try:
            if self.lease.owned():
                self.lease.release()
        except RedisError:
            log.warning("the broker is unreachable: the lease of the beat expires by itself")
        super().close()

    def _is_ours(self) -> bool:
        if self.lease.owned():
            return bool(self.lease.reacquire())
        if self.lease.acquire(token=this_process()):
            log.info("this beat sends from now on")
            return True
        return False
