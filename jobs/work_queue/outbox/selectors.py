"""Reading an outbox: what is due of it, and what a worker holds."""

from datetime import datetime, timedelta
from typing import TypeVar

from django.db.models import Q, QuerySet

from jobs.work_queue.outbox.models import Outgoing

Row = TypeVar("Row", bound=Outgoing)


def due(rows: QuerySet[Row], lease: timedelta, now: datetime) -> QuerySet[Row]:
    """The messages that are due, and those whose worker held them for longer than a lease; the oldest first."""
    is_due = Q(state=Outgoing.State.PENDING, due_at__lte=now)
    is_left = Q(state=Outgoing.State.SENDING, claimed_at__lte=now - lease)
    return rows.filter(is_due | is_left).order_by("due_at", "pk")


def held(row: Row) -> QuerySet[Row]:
    """The row while it belongs to this worker: empty once the lease ran out and another has it, or it is gone."""
    claim = {"state": Outgoing.State.SENDING, "claimed_at": row.claimed_at, "attempts": row.attempts}
    return QuerySet(type(row)).filter(pk=row.pk, **claim)
