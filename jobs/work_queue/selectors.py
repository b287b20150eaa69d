"""Reading what failed: what is not to be tried now, and how much there is of it."""

from collections import Counter
from collections.abc import Collection
from datetime import datetime
from typing import Any

from django.db.models import QuerySet

from jobs.models import WorkFailure

TRIES_MAX = 5


def failures(kind: str = "") -> QuerySet[WorkFailure]:
    """What failed at least once, the latest first; of one kind if given."""
    rows = WorkFailure.objects.filter(tries__gt=0).order_by("-last_at", "-pk")
    return rows.filter(kind=kind) if kind else rows


def held_back(kind: str, keys: Collection[int], now: datetime) -> dict[int, bool]:
    """Whether failed or running work must not be tried now: set aside, waiting, or claimed by another worker.

    False for what may be tried again; work without a row never failed and is not claimed.
    """
    rows = WorkFailure.objects.filter(kind=kind, key__in=keys)
    found = rows.values_list("key", "claimed_until", "next_at", "set_aside_at")
    return {key: bool(claimed or aside or (again and again > now)) for key, claimed, again, aside in found}


def set_aside(kind: str) -> QuerySet[WorkFailure, Any]:
    """The keys of what was set aside, for use in a query."""
    return failures(kind).filter(set_aside_at__isnull=False).order_by().values("key")


def failed_often(kind: str) -> QuerySet[WorkFailure, Any]:
    """The keys of what failed so often that other work would be set aside, for use in a query."""
    return failures(kind).filter(tries__gte=TRIES_MAX).order_by().values("key")


def due_again(kind: str, now: datetime) -> list[int]:
    """What failed and may be tried again now, the longest waiting first."""
    waited = failures(kind).filter(set_aside_at=None, claimed_until=None).exclude(next_at__gt=now)
    return list(waited.order_by("next_at", "pk").values_list("key", flat=True))


def failure_counts() -> Counter[tuple[str, str]]:
    """How much work failed and is tried again, or was set aside, by (kind, state)."""
    rows = failures().values_list("kind", "set_aside_at")
    return Counter((kind, "waits" if set_aside_at is None else "set_aside") for kind, set_aside_at in rows)
