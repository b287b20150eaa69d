"""Starts worked by hand: one line of the queue for each, and a weekday noon at which something is asked."""

from __future__ import annotations

from typing import Any

from analysis.queue_waits.rule import Asked, Start, Starts, starts_of

NOON_S = 1_763_640_000.0
"""2025-11-20 12:00 UTC."""

HOUR_S = 3600.0


def start(wait_min: float, hours_before: float = 24.0, person: int = 1, **changes: Any) -> Start:
    """A run of one GPU that started so many hours before noon, after this wait, and ran for half an hour."""
    started_s = NOON_S - hours_before * HOUR_S
    eligible_s = started_s - wait_min * 60
    run = Start(eligible_s, eligible_s, started_s, started_s + 1800, 1, 1, 7200.0, person, person)
    return run._replace(**changes)


def asked(**changes: Any) -> Asked:
    """One GPU for two hours at noon, by a person of another project."""
    request: dict[str, Any] = {"gpus": 1, "nodes": 1, "limit_s": 7200.0, "project": None, "user": None}
    return Asked(**(request | {"at_s": NOON_S} | changes))


def evenly(count: int, people: int = 5, **changes: Any) -> list[Start]:
    """Runs that waited 10, 20, 30 … minutes; all started 24 h before noon, of these people in turn.

    No two of one person were submitted within the same clock hour where there are five people.
    """
    return [start(10.0 * (number + 1), person=number % people + 1, **changes) for number in range(count)]


def queue(*rows: Start) -> Starts:
    return starts_of(rows)
