"""The weekly summary of the support queue for staff: numbers of cases alone, once a week for each person."""

from datetime import datetime, timedelta
from functools import partial

from django.conf import settings
from django.db import IntegrityError, transaction

from analysis.cases.selectors import QueueSummary, cases_for_staff, queue_summary
from analysis.rollups.selectors import site_zone
from jobs.models import User
from jobs.work_queue.services import Work, attempt_each
from reports.mail.digest import Frequency
from reports.mail.services.planning import account_name
from reports.models import Delivery, Notice
from reports.selectors import delivery_choices
from reports.services.links import address
from wire.numbers import counted

SUMMARY = "summary of the support queue"
"""The kind of work under which a failure is recorded; the key is the account."""

SENT_FROM = timedelta(hours=7)
"""The summary is sent from Monday 07:00 of the site on, so that it is there when the week begins."""


def plan_summaries(now: datetime) -> int:
    """Put the summary of this week into the outbox of staff who have none yet; how many. None for an empty queue.

    Whoever turned off all mail gets none, and nobody where SUPPORT_SUMMARY is off.
    """
    week = _week(now)
    if not settings.SUPPORT_SUMMARY or not week:
        return 0
    planned = Notice.objects.filter(once_key__startswith=f"summary {week} ").values("delivery__user")
    staff = User.objects.filter(is_staff=True, is_active=True).exclude(email="").exclude(pk__in=planned)
    choices = delivery_choices(staff.values_list("pk", flat=True))
    wanted = [pk for pk, chosen in choices.items() if chosen.frequency is not Frequency.OFF]
    if not wanted or not cases_for_staff(now).exists():
        return 0
    work = Work(SUMMARY, partial(_plan, week=week, now=now), is_recurring=True, name=account_name)
    return attempt_each(work, [sorted(wanted)], now).done


def _week(now: datetime) -> str:
    """The week that now is in, from its Monday at 07:00 on; empty before that."""
    local = now.astimezone(site_zone())
    year, week, day = local.isocalendar()
    since_midnight = timedelta(hours=local.hour, minutes=local.minute)
    return "" if day == 1 and since_midnight < SENT_FROM else f"{year}-W{week:02d}"


def _plan(user_pk: int, week: str, now: datetime) -> bool:
    summary = queue_summary(now)
    try:
        with transaction.atomic():
            delivery = Delivery.objects.create(user_id=user_pk, created_at=now, due_at=now)
            Notice.objects.create(
                delivery=delivery,
                kind=Notice.Kind.SUMMARY,
                subject=f"Support queue: {counted(summary.new, 'new case')} this week",
                text=summary_text(summary),
                once_key=f"summary {week} {user_pk}",
            )
    except IntegrityError:
        # Another worker planned it in the meantime.
        return False
    return True


def summary_text(summary: QueueSummary) -> str:
    """The summary as text: counts by state and since when, nobody's name and no hours."""
    lines = [f"{state.label}: {count:,}" for state, count in summary.states.items()]
    if summary.oldest:
        day = summary.oldest.astimezone(site_zone()).date()
        lines += ["", f"Oldest case that is not closed: visible since {day.isoformat()}"]
    return "\n".join(
        [
            f"New in the last 7 days: {summary.new:,}",
            f"Closed in the last 7 days: {summary.closed:,}",
            "",
            "Cases by state",
            *lines,
            "",
            f"The support queue: {address('support-queue')}",
        ]
    )
