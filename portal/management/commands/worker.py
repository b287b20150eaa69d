"""`manage.py worker`: the sweeps in one process, for a machine without Redis; Celery runs the same services."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import OperationalError, close_old_connections
from django.utils import timezone

from analysis.services import analyse_due
from analysis.tasks import LOOK_BACK
from education.services.links import check_asked_links
from reports.services.publishing import publish_due
from reports.services.sending import deliver_due

BATCH_SIZE = 100
MAIL_BATCH_SIZE = 20
FULL_SWEEP_SECONDS = 3600

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Analyse, report and mail what is due, and check links when asked, until it is told to stop."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seconds", type=float, default=settings.SWEEP_SECONDS, help="rest between sweeps")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: stop.set())
        swept_all_at = delivered_at = -math.inf
        while not stop.is_set():
            if time.monotonic() - delivered_at >= settings.DELIVER_SECONDS:
                delivered_at = time.monotonic()
                deliver()
                check_links()
            is_full = time.monotonic() - swept_all_at >= FULL_SWEEP_SECONDS
            if not sweep(is_full):
                swept_all_at = time.monotonic() if is_full else swept_all_at
                stop.wait(options["seconds"])


def sweep(is_full: bool) -> int:
    """One round of what is due, of all there is or of what changed lately; how much was done.

    A database that is away is tried again with the next round.
    """
    close_old_connections()
    since = None if is_full else timezone.now() - LOOK_BACK
    try:
        return analyse_due(BATCH_SIZE, since=since) + publish_due(BATCH_SIZE)
    except OperationalError:
        log.exception("the database is away; the next sweep tries again")
        return 0


def deliver() -> int:
    """One round of the mail that is due; how many messages were sent. A database that is away is tried again later."""
    close_old_connections()
    try:
        return deliver_due(MAIL_BATCH_SIZE)
    except OperationalError:
        log.exception("the database is away; the next round of mail tries again")
        return 0


def check_links() -> bool:
    """The check of links that staff asked for, if any."""
    close_old_connections()
    try:
        return check_asked_links(timezone.now())
    except OperationalError:
        log.exception("the database is away; the check of links waits")
        return False
