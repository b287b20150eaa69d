"""Which runs an export takes: the bounds of their ends, as commands and addresses state them."""

import re
from contextlib import suppress
from datetime import UTC, datetime

BOUND_PATTERN = (
    r"^20[0-9]{2}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
    r"(T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](Z|[+-]([01][0-9]|2[0-3]):[0-5][0-9]))?$"
)
BOUND = re.compile(BOUND_PATTERN.replace("$", r"\Z"), re.ASCII)
"""A day or an instant of this century, as of jobs (`wire.times.YEARS`)."""


def bound(text: str) -> datetime:
    """A day, which begins at midnight in UTC, or an instant with its offset. Raises ValueError.

    >>> bound("2026-11-01").isoformat(), bound("2026-11-01T12:00:00+02:00").isoformat()
    ('2026-11-01T00:00:00+00:00', '2026-11-01T10:00:00+00:00')
    """
    if BOUND.match(text):
        with suppress(ValueError):  # a day that its month does not have
            at = datetime.fromisoformat(text)
            return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    raise ValueError("must be a day such as 2026-11-01, or a time such as 2026-11-01T12:00:00Z, from 2000 to 2099")


def bounds(since: str | None, until: str | None) -> tuple[datetime | None, datetime | None]:
    """Both bounds, None where there is none. Raises ValueError with the name of what is wrong."""
    found: list[datetime | None] = []
    for name, text in (("since", since), ("until", until)):
        try:
            found.append(None if text is None else bound(text))
        except ValueError as error:
            raise ValueError(f"{name} {error}") from error
    first, end = found
    if first and end and first >= end:
        raise ValueError("since must be before until")
    return first, end
