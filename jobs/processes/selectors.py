"""Reading which processes are at work."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db.models import Max, QuerySet

from jobs.models import Process

THERE = timedelta(minutes=1)
"""Whoever said nothing for so long is taken for gone: six times what a process leaves between two words."""


def processes_there(now: datetime) -> QuerySet[Process]:
    """The processes that were heard within a minute."""
    return Process.objects.filter(seen_at__gte=now - THERE).order_by("kind", "name")


def last_seen_at(kind: str) -> datetime | None:
    """When a process of this kind was heard last; None where none ever was, or not for a day."""
    at: datetime | None = Process.objects.filter(kind=kind).aggregate(at=Max("seen_at"))["at"]
    return at
