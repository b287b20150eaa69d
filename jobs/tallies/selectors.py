"""Reading what was counted."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime, timedelta

from django.db.models import Q
from django.utils import timezone

from jobs.models import Tally
from jobs.tallies.kinds import COLLECTOR_FAILURES, ROUNDS

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


def last_rounds() -> dict[str, datetime]:
    """When each sweep last ended without an error, by its name."""
    rows = Tally.objects.filter(name=f"{ROUNDS.name}_sum").values_list("labels", "last_at")
    return {json.loads(labels)[0]: at for labels, at in rows}
