"""The link to the raw samples of a run, where there are some: how far they reach back, and until when they stay."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.conf import settings

from jobs.models import Job
from metrics.selectors import raw_windows_held
from reports.services.links import raw_samples_url, raw_window_url

MINUTE_S = 60


@dataclass(frozen=True)
class RawLink:
    """`kept_until` is None where they are kept for ever, `page_url` empty where no page of the site draws them."""

    url: str
    page_url: str
    minutes: int
    kept_until: datetime | None


def raw_link(run: Job) -> RawLink | None:
    """The link for whoever may see the run; None while nothing is held of it."""
    held = None if run.is_told_by_owner else raw_windows_held((run.cluster, run.job_id, run.attempt))
    if held is None:
        return None
    until = held.received_at + timedelta(days=settings.RAW_DAYS) if settings.RAW_DAYS else None
    page_url = raw_window_url(run) if settings.RAW_ON_PAGE else ""
    return RawLink(raw_samples_url(run), page_url, max(round(held.longest_s / MINUTE_S), 1), until)
