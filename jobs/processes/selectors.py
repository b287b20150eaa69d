"""Reading which processes are running."""

from datetime import datetime, timedelta

from django.db.models import Max, QuerySet

from jobs.models import Process

THERE = timedelta(minutes=1)
"""A process without a record for this long counts as gone: six times the interval of the records."""


def processes_there(now: datetime) -> QuerySet[Process]:
    """The processes that recorded within the last minute that they are alive."""
    return Process.objects.filter(seen_at__gte=now - THERE).order_by("kind", "name")


def last_seen_at(kind: str) -> datetime | None:
    """When a process of this kind was last alive; None where there was none within a day."""
    at: datetime | None = Process.objects.filter(kind=kind).aggregate(at=Max("seen_at"))["at"]
    return at
