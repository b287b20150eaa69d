"""Running processes of Kaiku: each regularly records that it is alive."""

import logging
import os
import time
from collections.abc import Callable
from datetime import timedelta
from threading import Event, Thread

from django.conf import settings
from django.db import DatabaseError, InterfaceError, connection, transaction
from django.utils import timezone

from jobs.models import Process
from jobs.processes.names import this_process

SEEN_EVERY_S = 10.0
FORGOTTEN_AFTER = timedelta(days=1)

log = logging.getLogger(__name__)
last_seen: dict[tuple[int, str], float] = {}
"""When a process last recorded it, by its number and kind: a forked process has to record it itself."""


def seen(kind: str, waiting_records: int | None = None) -> None:
    """Record that this process is alive, at most every ten seconds; an error of the database does not stop it.

    `waiting_records` is the number of records that wait in this process to be stored.
    """
    here, now_s = (os.getpid(), kind), time.monotonic()
    if now_s - last_seen.get(here, -SEEN_EVERY_S) < SEEN_EVERY_S:
        return
    is_first = here not in last_seen
    last_seen[here] = now_s
    try:
        _write(kind, waiting_records, is_first)
    except (DatabaseError, InterfaceError) as error:
        log.debug("this process could not record that it is alive: %s", type(error).__name__)


def keep_saying(kind: str) -> Callable[[], None]:
    """Record every ten seconds that this process is alive, in its own thread, until the returned function is called."""
    is_over = Event()

    def say() -> None:
        while True:
            seen(kind)
            # A connection of this thread only, which a process that is forked at the same time must not find open.
            connection.close()
            if is_over.wait(SEEN_EVERY_S):
                return

    Thread(target=say, name="still-there", daemon=True).start()
    return is_over.set


def _write(kind: str, waiting_records: int | None, is_first: bool) -> None:
    now = timezone.now()
    with transaction.atomic():
        if is_first:
            Process.objects.filter(seen_at__lt=now - FORGOTTEN_AFTER).delete()
        said = {"version": settings.VERSION, "seen_at": now, "waiting_records": waiting_records}
        Process.objects.update_or_create(name=this_process(), kind=kind, defaults=said)
