"""Whether raw windows are accepted at the moment: a portal under load rejects them first."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from analysis.due.selectors import waiting_runs
from metrics.selectors import raw_bytes_kept, raw_windows_since

ARRIVALS = timedelta(minutes=1)
MIB = 2**20
AFTER_ARRIVALS_S, AFTER_BACKLOG_S, AFTER_EXPIRY_S = 60, 300, 3600
"""When to retry: in the next minute, when some work is done, when some windows may have been deleted."""


@dataclass(frozen=True)
class Load:
    """Why nothing is accepted, and after how long to retry."""

    why: str
    retry_after_s: int


def raw_load(now: datetime) -> Load | None:
    """The reason to reject raw windows: too many recently, jobs that wait for their analysis, or enough stored; None if
    there is none.

    Each check is one short query with an index. Summaries and records are never rejected for this reason.
    """
    arrived = raw_windows_since(now - ARRIVALS)
    if arrived >= settings.RAW_WINDOWS_PER_MINUTE:
        most = f"{arrived:,} windows arrived within the last minute; the limit is {settings.RAW_WINDOWS_PER_MINUTE:,}"
        return Load(most, AFTER_ARRIVALS_S)
    if waiting_runs(now, settings.RAW_BACKLOG_MAX + 1) > settings.RAW_BACKLOG_MAX:
        return Load(f"more than {settings.RAW_BACKLOG_MAX:,} ended jobs wait for their analysis", AFTER_BACKLOG_S)
    kept_bytes = raw_bytes_kept()
    if kept_bytes >= settings.RAW_MIB_MAX * MIB:
        return Load(
            f"{kept_bytes // MIB:,} MiB of them are stored; the limit is {settings.RAW_MIB_MAX:,}", AFTER_EXPIRY_S
        )
    return None
