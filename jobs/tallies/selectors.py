"""Reading what was counted."""

from __future__ import annotations

import json
from collections import defaultdict
from datetime import datetime

from jobs.models import Tally


def tallies() -> dict[str, dict[tuple[str, ...], float]]:
    """Every number by name and labels: some hundreds of rows, however much was counted."""
    found: dict[str, dict[tuple[str, ...], float]] = defaultdict(dict)
    for name, labels, value in Tally.objects.values_list("name", "labels", "value"):
        found[name][tuple(json.loads(labels))] = value
    return found


def counted_since(name: str, since: datetime) -> list[tuple[tuple[str, ...], Tally]]:
    """What was counted under this name since then, by its labels, what happened last first."""
    rows = Tally.objects.filter(name=name, last_at__gte=since).order_by("-last_at", "labels")
    return [(tuple(json.loads(row.labels)), row) for row in rows]


def tally_labels(name: str) -> set[tuple[str, ...]]:
    """The labels under which something was counted so far."""
    return {tuple(json.loads(labels)) for labels in Tally.objects.filter(name=name).values_list("labels", flat=True)}
