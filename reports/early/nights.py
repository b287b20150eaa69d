"""When people sleep: no mail between 22:00 and 07:00 of their own clock, unless they want it."""

from __future__ import annotations

from datetime import datetime, time, timedelta, tzinfo

NIGHT_FROM, NIGHT_UNTIL = time(22), time(7)


def morning_after(now: datetime, zone: tzinfo) -> datetime | None:
    """When the night that now is in ends there; None in the day.

    >>> from datetime import UTC
    >>> print(morning_after(datetime(2026, 11, 20, 23, 30, tzinfo=UTC), UTC))
    2026-11-21 07:00:00+00:00
    >>> print(morning_after(datetime(2026, 11, 20, 12, 0, tzinfo=UTC), UTC))
    None
    """
    local = now.astimezone(zone)
    if NIGHT_UNTIL <= local.time() < NIGHT_FROM:
        return None
    day = local.date() + timedelta(days=local.time() >= NIGHT_FROM)
    return datetime.combine(day, NIGHT_UNTIL, tzinfo=zone)
