"""Times of jobs: which of them are possible, and how Slurm writes a time limit."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from datetime import datetime

YEARS = range(2000, 2100)
"""The limits of times of jobs: a clock that was never set shows 1970; at the ends of the calendar sums overflow."""
RUN_DAYS_MAX = 366


def impossible_times(**instants: datetime | None) -> list[tuple[str, str]]:
    """`(name, message)` of an impossible time of a job, or of a start and an end that are too far apart."""
    found = [(name, "is not a plausible time of a job") for name, at in instants.items() if at and at.year not in YEARS]
    started_at, ended_at = instants.get("started_at"), instants.get("ended_at")
    if found or not started_at or not ended_at:
        return found
    if ended_at < started_at:
        return [("ended_at", "is before started_at")]
    if (ended_at - started_at).days >= RUN_DAYS_MAX:
        return [("ended_at", "is longer after started_at than any job can run")]
    return []


def walltime_text(seconds: float) -> str:
    """Seconds in Slurm's spelling.

    >>> walltime_text(5400), walltime_text(30 * 3600), walltime_text(259200)
    ('01:30:00', '1-06:00:00', '3-00:00:00')
    """
    days, rest = divmod(round(seconds), 86_400)
    clock = f"{rest // 3600:02d}:{rest % 3600 // 60:02d}:{rest % 60:02d}"
    return f"{days}-{clock}" if days else clock
