"""Which runs an export takes: the bounds of their ends, as commands and addresses state them."""

from __future__ import annotations

from datetime import UTC, date, datetime, time

from jobs.records import YEARS


def bound(text: str) -> datetime:
    """A day, which begins at midnight in UTC, or an instant with its offset. Raises ValueError.

    >>> bound("2026-11-01").isoformat(), bound("2026-11-01T12:00:00+02:00").isoformat()
    ('2026-11-01T00:00:00+00:00', '2026-11-01T10:00:00+00:00')
    """
    try:
        at = _read(text)
    except (ValueError, OverflowError):
        at = None
    if at is None or at.year not in YEARS:
        raise ValueError("must be a day such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z")
    return at


def _read(text: str) -> datetime | None:
    if len(text) == len("2026-11-01"):
        return datetime.combine(date.fromisoformat(text), time(), UTC)
    at = datetime.fromisoformat(text)
    return at.astimezone(UTC) if at.tzinfo else None


def bounds(since: str, until: str) -> tuple[datetime | None, datetime | None]:
    """Both bounds, None where they are empty. Raises ValueError with the name of what is wrong."""
    found: list[datetime | None] = []
    for name, text in (("since", since), ("until", until)):
        try:
            found.append(bound(text) if text else None)
        except ValueError as error:
            raise ValueError(f"{name} {error}") from error
    first, end = found
    if first and end and first >= end:
        raise ValueError("since must be before until")
    return first, end
