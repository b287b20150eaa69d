"""Writing sign-ins of programs: each step is one conditional statement, so of several at once one alone succeeds."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.db import IntegrityError, transaction
from django.db.models import F, Q
from django.db.models.functions import Least

from jobs.expiry.services import remove_rows, sweep
from jobs.models import DeviceSignIn, User

State = DeviceSignIn.State
SLOWER_S, INTERVAL_S_MAX = 5, 60  # RFC 8628, section 3.5: `slow_down` adds 5 s to the interval
EARLY_S = 1
"""How much earlier than its interval a program may ask again: clocks and networks are not exact."""


def begin(*, device_digest: str, user_digest: str, device_name: str, address: str, kind: str, now: datetime,
          lasts: timedelta, interval_s: int) -> bool:  # fmt: skip
    """Store a new one; False if another one that waits has the same code. Some that are over are deleted."""
    sweep(DeviceSignIn.objects.filter(expires_at__lte=now), "expires_at")
    columns = {"device_name": device_name, "address": address, "kind": kind, "interval_s": interval_s}
    times = {"created_at": now, "expires_at": now + lasts}
    try:
        with transaction.atomic():
            DeviceSignIn.objects.create(device_digest=device_digest, user_digest=user_digest, **columns, **times)
    except IntegrityError:
        return False
    return True


def answer(row: DeviceSignIn, user: User, *, is_approved: bool, now: datetime) -> bool:
    """Approve or refuse one that waits; False if it was answered or ended meanwhile."""
    state = State.APPROVED if is_approved else State.REFUSED
    waiting = DeviceSignIn.objects.filter(pk=row.pk, state=State.WAITING, expires_at__gt=now)
    return waiting.update(state=state, user=user) == 1


def note_poll(row: DeviceSignIn, now: datetime) -> bool:
    """Note that the program asked; False if it did so before its interval had passed, which is then longer."""
    rows = DeviceSignIn.objects.filter(pk=row.pk)
    due = Q(polled_at=None) | Q(polled_at__lte=now - timedelta(seconds=row.interval_s - EARLY_S))
    if rows.filter(due).update(polled_at=now):
        return True
    rows.update(polled_at=now, interval_s=Least(F("interval_s") + SLOWER_S, INTERVAL_S_MAX))
    return False


def spend(row: DeviceSignIn, now: datetime) -> bool:
    """Take the approval, once: in the transaction that creates the token."""
    approved = DeviceSignIn.objects.filter(pk=row.pk, state=State.APPROVED, expires_at__gt=now)
    return approved.update(state=State.SPENT) == 1


def remove_over(before: datetime) -> Iterator[int]:
    """Delete those that were over before an instant, in batches; yields the number after each batch."""
    yield from remove_rows(DeviceSignIn.objects.filter(expires_at__lt=before))
