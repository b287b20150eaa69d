"""Turning reports that wait into rows of the outbox, one person at a time."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction
from django.utils import timezone

from jobs.models import User
from reports.digest import Plan, plan
from reports.models import Delivery, Report
from reports.selectors import delivery_choices, delivery_past, waiting_reports

NO_ADDRESS = "no_address"
PEOPLE_MAX = 200
"""So many people are planned for in one round."""
ADDRESS_WAIT = timedelta(days=14)
"""So long reports wait for their owner's address; older ones are no news any more."""


def plans(now: datetime) -> dict[int, Plan]:
    """What is due for each person, written nowhere."""
    waiting = waiting_reports()
    choices, past = delivery_choices(waiting), delivery_past(waiting)
    made = {pk: plan(items, choices[pk], past[pk], now) for pk, items in waiting.items()}
    return {pk: wanted for pk, wanted in made.items() if wanted != Plan()}


def plan_due(limit: int, now: datetime | None = None) -> int:
    """Fill the outbox for up to `limit` people; how many messages it got."""
    now = now or timezone.now()
    release_addressed(now)
    return sum(plan_person(user_pk, now) for user_pk in list(plans(now))[:limit])


def plan_person(user_pk: int, now: datetime) -> int:
    """The outbox rows that are due for one person; none while another worker is at it."""
    with transaction.atomic():
        # no_key: a job of this person may arrive meanwhile; only another planner must wait.
        claimed = User.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=user_pk).first()
        if claimed is None:
            return 0
        waiting = waiting_reports(user_pk).get(user_pk, [])
        choices, past = delivery_choices([user_pk])[user_pk], delivery_past([user_pk])[user_pk]
        wanted = plan(waiting, choices, past, now)
        for message in wanted.messages:
            _fill(message.report_pks, user=claimed, frequency=message.frequency.value, created_at=now, due_at=now)
        for withheld in wanted.withheld:
            row = {"state": Delivery.State.SUPPRESSED, "reason": withheld.reason.value}
            _fill(withheld.report_pks, user=claimed, created_at=now, due_at=now, **row)
    return len(wanted.messages)


def release_addressed(now: datetime) -> int:
    """Let reports wait again whose owner had no address and has one now; how many messages that were."""
    rows = Delivery.objects.filter(
        state=Delivery.State.SUPPRESSED, reason=NO_ADDRESS, created_at__gte=now - ADDRESS_WAIT
    ).exclude(user__email="")
    return rows.delete()[1].get("reports.Delivery", 0)


def _fill(report_pks: tuple[int, ...], **columns: object) -> None:
    delivery = Delivery.objects.create(**columns)
    Report.objects.filter(pk__in=report_pks, delivery__isnull=True).update(delivery=delivery)
