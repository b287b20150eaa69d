"""How old the queues of the clusters are that a page shows."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from jobs.models import QueueReading
from jobs.queue.selectors import fresh_since, readings
from portal.charts.queue_lines import seconds_between


@dataclass(frozen=True)
class Reading:
    """A stored reading of one queue, with its age in seconds; `is_old` where what it lists may no longer hold."""

    row: QueueReading
    age_s: float | None
    is_old: bool


def queue_readings(now: datetime) -> list[Reading]:
    """The readings of all clusters, by name: one query."""
    return [_reading(row, now) for row in readings()]


def _reading(row: QueueReading, now: datetime) -> Reading:
    return Reading(row, seconds_between(row.read_at, now), row.read_at is None or row.read_at < fresh_since(now))
