"""Whether raw windows are taken at this moment: they are the first thing that a portal with much to do leaves out."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from analysis.selectors import waiting_runs
from metrics.selectors import raw_bytes_kept, raw_windows_since

ARRIVALS = timedelta(minutes=1)
MIB = 2**20
AFTER_ARRIVALS_S, AFTER_BACKLOG_S, AFTER_EXPIRY_S = 60, 300, 3600
"""When to come again: in the next minute, when some work is done, when some windows may have gone."""


@dataclass(frozen=True)
class Load:
    """Why nothing is taken, and after how long it is worth trying again."""

    why: str
    retry_after_s: int


def raw_load(now: datetime) -> Load | None:
    """What keeps raw windows out: too many lately, jobs that wait for their analysis, or enough kept; None if nothing.

    Each is one short query by an index. Summaries and records are never turned away.
    """
    arrived = raw_windows_since(now - ARRIVALS)
    if arrived >= settings.RAW_WINDOWS_PER_MINUTE:
        most = f"{arrived:,} windows arrived within the last minute, and {settings.RAW_WINDOWS_PER_MINUTE:,} may"
        return Load(most, AFTER_ARRIVALS_S)
    if waiting_runs(now, settings.RAW_BACKLOG_MAX + 1) > settings.RAW_BACKLOG_MAX:
        return Load(f"more than {settings.RAW_BACKLOG_MAX:,} ended jobs wait for their analysis", AFTER_BACKLOG_S)
    kept_bytes = raw_bytes_kept()
    if kept_bytes >= settings.RAW_MIB_MAX * MIB:
        return Load(f"{kept_bytes // MIB:,} MiB of them are kept, and {settings.RAW_MIB_MAX:,} may be", AFTER_EXPIRY_S)
    return None
