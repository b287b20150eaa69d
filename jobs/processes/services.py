"""Processes of Kaiku that are at work: each says now and then that it is still there."""

from __future__ import annotations

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
"""When a process said so last, by its number and kind: a forked one has to say so itself."""


def seen(kind: str, waiting_records: int | None = None) -> None:
    """Write that this process is there, at most every ten seconds; a database that takes nothing is no reason to stop.

    `waiting_records` is how much waits in this process to be stored.
    """
    here, now_s = (os.getpid(), kind), time.monotonic()
    if now_s - last_seen.get(here, -SEEN_EVERY_S) < SEEN_EVERY_S:
        return
    is_first = here not in last_seen
    last_seen[here] = now_s
    try:
        _write(kind, waiting_records, is_first)
    except (DatabaseError, InterfaceError) as error:
        log.debug("this process could not say that it is there: %s", type(error).__name__)


def keep_saying(kind: str) -> Callable[[], None]:
    """Write every ten seconds that this process is there, from a thread of its own, until the answer is called."""
    is_over = Event()

    def say() -> None:
        while True:
            seen(kind)
            # A connection of this thread alone, which a process that is forked meanwhile must not find open.
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
