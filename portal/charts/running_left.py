"""A job that left the queue and has no record yet: what was known of it last, until its report replaces it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from analysis.early.figures import RunningFigures, figures_from
from analysis.early.models import RunningRun
from analysis.early.selectors import visible_left
from jobs.selectors import Reach


@dataclass(frozen=True)
class LeftJob:
    """One of them; `left_at` is when the queue was first read without it. `figures` are None where none were made."""

    run: RunningRun
    left_at: datetime
    figures: RunningFigures | None
    is_own: bool

    @property
    def measured_until(self) -> datetime | None:
        return None if self.figures is None else self.run.started_at + timedelta(seconds=self.figures.until_s)

    @property
    def idle_since(self) -> datetime | None:
        """Since when no GPU did anything, until `measured_until`; None where one worked, or where it is not known."""
        since_s = self.figures.idle_since_s if self.figures else None
        return None if since_s is None else self.run.started_at + timedelta(seconds=since_s)


def left_job(reach: Reach, cluster: str, job_id: int, now: datetime) -> LeftJob | None:
    """A job that a person sees and that no longer runs, without a record of its end; one query where there is none."""
    run = visible_left(reach, cluster, job_id)
    if run is None:
        return None
    figures = figures_from(run.figures)
    known = figures if figures and figures.until_s > 0 else None
    # The queue may have been read since the sweep looked.
    return LeftJob(run, run.left_at or now, known, run.user_id == reach.user_id)
