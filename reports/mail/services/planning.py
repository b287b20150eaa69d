"""Turning reports that wait into rows of the outbox, one person at a time."""

import logging
from datetime import datetime, timedelta
from functools import partial

from django.db import DatabaseError, transaction
from django.utils import timezone

from jobs.models import User
from jobs.work_queue.selectors import failures
from jobs.work_queue.services import Work, attempt_each
from reports.mail.digest import Plan, plan
from reports.models import Delivery, Report
from reports.selectors import delivery_choices, delivery_past, people_waiting, waiting_reports

log = logging.getLogger(__name__)

NO_ADDRESS = "no_address"
PEOPLE_MAX = 200
"""How many people one round plans for."""
ADDRESS_WAIT = timedelta(days=14)
"""How long reports wait for their owner's address; older ones are not sent any more."""

PLANNING = "mail to a person"
"""The kind of work of a failure to plan a person's messages; its key is the account."""


def plans(now: datetime) -> dict[int, Plan]:
    """What is due for each person, without storing it; people whose mail could not be planned before are left out."""
    failing = set(failures(PLANNING).values_list("key", flat=True))
    waiting = waiting_reports(without=failing)
    choices, past = delivery_choices(waiting), delivery_past(waiting)
    made = {pk: plan(items, choices[pk], past[pk], now) for pk, items in waiting.items()}
    return {pk: wanted for pk, wanted in made.items() if wanted != Plan()}


def plan_due(limit: int, now: datetime | None = None) -> int:
    """Fill the outbox for up to `limit` people; how many messages were added. One person's failure affects no other."""
    now = now or timezone.now()
    release_addressed(now)
    work = Work(PLANNING, partial(plan_person, now=now), name=account_name)
    return attempt_each(work, [people_due(now)[:limit]], now).done


def people_due(now: datetime) -> list[int]:
    """Who is due for a message; where that fails for anybody, all who have waiting reports, to be tried one by one."""
    try:
        return list(plans(now))
    except DatabaseError:
        raise
    except Exception:
        log.exception("mail of at least one person cannot be planned; planning each person separately")
        return people_waiting()


def account_name(user_pk: int) -> str:
    """The name of a person in the log: the number of the account, without name or address."""
    return f"account {user_pk}"


def plan_person(user_pk: int, now: datetime) -> int:
    """The outbox rows that are due for one person; none while another worker plans them."""
    with transaction.atomic():
        # no_key: a job of this person may arrive meanwhile; only another planner must wait.
        claimed = User.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=user_pk).first()
        if claimed is None:
            return 0
        waiting = waiting_reports([user_pk]).get(user_pk, [])
        choices, past = delivery_choices([user_pk])[user_pk], delivery_past([user_pk])[user_pk]
        wanted = plan(waiting, choices, past, now)
        for message in wanted.messages:
            _fill(message.report_pks, user=claimed, frequency=message.frequency.value, created_at=now, due_at=now)
        for withheld in wanted.withheld:
            row = {"state": Delivery.State.SUPPRESSED, "reason": withheld.reason.value}
            _fill(withheld.report_pks, user=claimed, created_at=now, due_at=now, **row)
    return len(wanted.messages)


def release_addressed(now: datetime) -> int:
    """Make reports wait again whose owner had no address and has one now; how many messages that were."""
    rows = Delivery.objects.filter(
        state=Delivery.State.SUPPRESSED, reason=NO_ADDRESS, created_at__gte=now - ADDRESS_WAIT, notice__isnull=True
    ).exclude(user__email="")
    return rows.delete()[1].get("reports.Delivery", 0)


def _fill(report_pks: tuple[int, ...], **columns: object) -> None:
    delivery = Delivery.objects.create(**columns)
    Report.objects.filter(pk__in=report_pks, delivery__isnull=True).update(delivery=delivery)
