"""Reading what was counted."""

import json
from collections import defaultdict
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from jobs.models import Tally
from jobs.tallies.kinds import COLLECTOR_FAILURES, STEP_FAILURES, STEP_TIMES

REASONS_KEPT = timedelta(days=30)
"""After this long without a new occurrence, a reason is replaced by another."""


def tallies() -> dict[str, dict[tuple[str, ...], float]]:
    """Every number by name and labels: some hundreds of rows, however much was counted."""
    found: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    is_forgotten = Q(name=COLLECTOR_FAILURES.name, last_at__lt=timezone.now() - REASONS_KEPT)
    for name, labels, value in Tally.objects.exclude(is_forgotten).values_list("name", "labels", "value"):
        found[name][tuple(json.loads(labels))] = value
    return found


def counted_since(name: str, since: datetime) -> list[tuple[tuple[str, ...], Tally]]:
    """What was counted under this name since then, by its labels, the latest first."""
    rows = Tally.objects.filter(name=name, last_at__gte=since).order_by("-last_at", "labels")
    return [(tuple(json.loads(row.labels)), row) for row in rows]


def steps_ended() -> tuple[dict[str, datetime], dict[str, datetime]]:
    """When each step of background work last ended without an error, and with one, by its name."""
    at: dict[str, dict[str, datetime]] = {f"{STEP_TIMES.name}_sum": {}, STEP_FAILURES.name: {}}
    for name, labels, last_at in Tally.objects.filter(name__in=at).values_list("name", "labels", "last_at"):
        at[name][json.loads(labels)[0]] = last_at
    ended, failed = at.values()
    return ended, failed
