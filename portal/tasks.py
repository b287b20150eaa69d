"""Background work: from a job's last payload to its report, with or without the beat, and what runs daily."""

from __future__ import annotations

import logging

from celery import shared_task
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError

from analysis.anonymous.services import anonymise_months
from analysis.answers.services import close_months as close_months_of_answers
from analysis.escalation.services import escalate as raise_and_clear
from analysis.outcomes.services import close_months as close_months_of_advice
from analysis.outcomes.services import settle_due
from analysis.policy.services import close_policy_months
from analysis.practices.services import close_months as close_months_of_practices
from analysis.predictions.services import close_months as close_months_of_predictions
from analysis.predictions.services import keep_records
from analysis.queue_waits.services import keep_ranges
from analysis.rollups.services import roll_up_due
from analysis.site.services import close_months
from analysis.waiting.services import check_waits
from jobs.experiments.services.following import follow_runs
from jobs.experiments.services.points import sort_points
from portal import expiry
from portal.charts.programs import program_codes, program_titles
from portal.watching import watch_and_tell
from reports.services.publishing import follow_up as judge_and_report

BATCH_SIZE = 200
ALONE = 20
"""If this much was due, another worker joins: each wakes one, so all free workers take part as long as there is
work."""

PROJECTS = 50
"""Projects whose changed days one run adds up."""

PEOPLE = 50
"""People whose changed works one run looks at."""

IDLE_RUNS = 200
"""Runs with idle GPUs for which one run checks who waited."""

LOGGED_RUNS = 200
"""Runs of scripts whose points one run sorts, and whose jobs it follows."""

EXPIRES_S = 30
EXPIRE_SECONDS_A_KIND = 240

log = logging.getLogger(__name__)


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=240)
def follow_up() -> None:
    """Sort what scripts logged, judge what changed, make its reports, keep the sums and outcomes that follow from it,
    close ended months."""
    sort_points(LOGGED_RUNS, timezone.now())
    follow_runs(LOGGED_RUNS, timezone.now())
    if judge_and_report(ALONE) >= ALONE:
        call_another()
        judge_and_report(BATCH_SIZE)
    roll_up_due(PROJECTS, timezone.now())
    settle_due(PEOPLE, timezone.now())
    check_waits(IDLE_RUNS, timezone.now())
    close_months(timezone.now())
    close_months_of_advice(timezone.now())
    close_months_of_practices(timezone.now(), program_titles)
    close_months_of_answers(timezone.now())
    close_months_of_predictions(timezone.now())


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=240)
def escalate() -> None:
    """Raise and clear the flags that are due; then the months whose rows programs and other sites read are closed."""
    raise_and_clear(timezone.now())
    close_policy_months(timezone.now())
    anonymise_months(timezone.now(), program_codes)


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=240)
def watch() -> None:
    """Look at the running jobs that were measured again, put what is to be told of them into the outboxes, and post to
    webhooks; mail is sent with the other mail."""
    watch_and_tell()


def call_another() -> None:
    """Wake up another worker, if one is free; without a broker the next beat continues."""
    try:
        follow_up.apply_async(expires=EXPIRES_S, retry=False)
    except (BrokerError, OSError):
        log.warning("the broker is unreachable: due work waits for the next sweep")


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=1800)
def expire() -> None:
    """Delete data past its retention time; the next day continues with what is left."""
    expiry.told(expiry.expire(timezone.now(), EXPIRE_SECONDS_A_KIND))


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=1800)
def backtest_waits() -> None:
    """Measure how far estimates of waits are off, by partition; those of the next day use it."""
    keep_ranges(timezone.now())


@shared_task(acks_late=True, ignore_result=True, soft_time_limit=1800)
def check_predictions() -> None:
    """Determine which methods of prediction keep their promise; what is stated the next day uses it."""
    keep_records(timezone.now())
