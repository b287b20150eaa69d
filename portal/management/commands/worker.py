"""`manage.py worker`: the sweeps in one process, for a machine without Redis; Celery runs the same services."""

from __future__ import annotations

import logging
import math
import signal
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandParser
from django.db import DatabaseError, close_old_connections
from django.utils import timezone

from analysis.anonymous.services import anonymise_months
from analysis.answers.services import close_months as close_months_of_answers
from analysis.escalation.services import escalate
from analysis.outcomes.services import close_months as close_months_of_advice
from analysis.outcomes.services import settle_due
from analysis.policy.services import close_policy_months
from analysis.practices.services import close_months as close_months_of_practices
from analysis.predictions.services import close_months as close_months_of_predictions
from analysis.predictions.services import keep_records
from analysis.queue_waits.services import keep_ranges
from analysis.rollups.services import roll_up_due
from analysis.selectors import last_change
from analysis.site.services import close_months
from analysis.waiting.services import check_waits
from education.services.links import check_asked_links
from jobs.experiments.services.following import follow_runs
from jobs.experiments.services.points import sort_points
from jobs.models import Process
from jobs.processes.services import keep_saying
from jobs.tasks import read_queues_and_left_jobs
from portal import expiry
from portal.charts.programs import program_codes, program_titles
from portal.logs import during_task
from portal.rounds import a_round
from portal.tasks import IDLE_RUNS, LOGGED_RUNS, PEOPLE, PROJECTS
from portal.troubles import trouble
from portal.watching import watch_and_tell
from reports.mail.services.sending import deliver_due
from reports.performance.targets.services.sweep import export_due
from reports.services.publishing import follow_up

BATCH_SIZE = 100
MAIL_BATCH_SIZE = 20
LOOK_SECONDS = 1.0
EXPIRE_SECONDS, EXPIRE_AGAIN_SECONDS = 86_400, 60
EXPIRE_SECONDS_A_KIND = 5.0
"""Judgements and mail wait during this time."""
BACKTEST_SECONDS = 86_400
EXPORT_ROUND_S, POST_ROUND_S = 5.0, 5.0
"""As for expiry: everything else waits for it."""

log = logging.getLogger(__name__)


class Command(BaseCommand):
    help = "Analyse, report, send mail, delete expired data, and check links on request, until the process is stopped."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--seconds", type=float, default=settings.SWEEP_SECONDS, help="pause between sweeps")

    def handle(self, *args: Any, **options: Any) -> None:
        stop = threading.Event()
        for name in (signal.SIGTERM, signal.SIGINT):
            signal.signal(name, lambda *_: stop.set())
        delivered_at = watched_at = expire_at = escalate_at = backtest_at = queue_at = export_at = -math.inf
        keep_saying(Process.Kind.WORKER)
        while not stop.is_set():
            if time.monotonic() - delivered_at >= settings.DELIVER_SECONDS:
                delivered_at = time.monotonic()
                deliver()
                check_links()
            if time.monotonic() >= expire_at:
                is_all = done("expire", expire)
                expire_at = time.monotonic() + (EXPIRE_SECONDS if is_all else EXPIRE_AGAIN_SECONDS)
            if time.monotonic() >= escalate_at:
                escalate_at = time.monotonic() + settings.FLAG_SECONDS
                raise_and_clear_flags()
            if time.monotonic() >= backtest_at:
                backtest_at = time.monotonic() + BACKTEST_SECONDS
                done("backtest_waits", lambda: keep_ranges(timezone.now()))
                done("check_predictions", lambda: keep_records(timezone.now()))
            if settings.QUEUE_CLUSTERS and settings.QUEUE_SECONDS and time.monotonic() >= queue_at:
                queue_at = time.monotonic() + settings.QUEUE_SECONDS
                done("read_queue", read_queues_and_left_jobs)
            if time.monotonic() - watched_at >= settings.WATCH_SECONDS:
                watched_at = time.monotonic()
                done("watch", lambda: watch_and_tell(POST_ROUND_S))
            if settings.EXPORT_TARGET and time.monotonic() >= export_at:
                export_at = time.monotonic() + settings.EXPORT_SECONDS
                done("export", lambda: export_due(EXPORT_ROUND_S))
            seen = changed_at()
            if not sweep():
                wait(stop, options["seconds"], seen)


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


def sweep() -> int:
    """One round of due work; returns how much was done."""
    judged = done("follow_up", lambda: follow_up(BATCH_SIZE))
    if judged is None:
        # Single runs that fail stop nothing, so this server cannot work now: the rest would only report it again.
        return 0
    done("sort_points", lambda: sort_points(LOGGED_RUNS, timezone.now()))
    done("follow_runs", lambda: follow_runs(LOGGED_RUNS, timezone.now()))
    done("roll_up", lambda: roll_up_due(PROJECTS, timezone.now()))
    done("settle_advice", lambda: settle_due(PEOPLE, timezone.now()))
    done("check_waits", lambda: check_waits(IDLE_RUNS, timezone.now()))
    done("close_months", lambda: close_months(timezone.now()))
    done("close_months_of_advice", lambda: close_months_of_advice(timezone.now()))
    done("close_months_of_practices", lambda: close_months_of_practices(timezone.now(), program_titles))
    done("close_months_of_answers", lambda: close_months_of_answers(timezone.now()))
    done("close_months_of_predictions", lambda: close_months_of_predictions(timezone.now()))
    done("close_policy_months", lambda: close_policy_months(timezone.now()))
    done("anonymise_months", lambda: anonymise_months(timezone.now(), program_codes))
    return judged


def raise_and_clear_flags() -> int:
    """The flags that are due; returns how many changed."""
    return done("escalate", lambda: escalate(timezone.now())) or 0


def deliver() -> int:
    """One round of due mail; returns how many messages were sent."""
    return done("deliver", lambda: deliver_due(MAIL_BATCH_SIZE)) or 0


def check_links() -> bool:
    """The check of links that staff requested, if any."""
    return bool(done("check_links", lambda: check_asked_links(timezone.now())))


def expire() -> bool:
    """Delete data past its retention time; returns whether all of it was deleted."""
    return expiry.told(expiry.expire(timezone.now(), EXPIRE_SECONDS_A_KIND))


def done(name: str, step: Callable[[], int]) -> int | None:
    """The result of one step; None if it failed: the next round continues. If the server is unable to work, one line is
    logged."""
    close_old_connections()
    with during_task(name):
        try:
            with a_round(name):
                return step()
        except Exception as error:
            found = trouble(error)
            if found is None:
                log.exception("%s failed; the next round tries again", name)
            else:
                log.error("%s", found.postpones(name))
            return None
