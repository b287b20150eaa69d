"""The latest jobs of a person as the dashboard and other portals list them, and the one to look at first."""

from dataclasses import dataclass

from analysis.findings import FindingCode
from analysis.models import JobEfficiency
from jobs.models import Job
from jobs.selectors import Reach, jobs_within
from portal.charts.run_classes import OPEN, SHOWN_NAMES, shown_class
from portal.charts.work_requests import job_label
from reports.services.links import job_url
from reports.wording import TITLES


@dataclass(frozen=True)
class ShownJob:
    """One run in a line; `judged` is None while it is not analysed, `finding` empty where it has none."""

    name: str
    url: str
    run: Job
    judged: JobEfficiency | None
    finding: str

    @property
    def class_name(self) -> str:
        """The class as people read it."""
        return SHOWN_NAMES[shown_class(self.run)]

    @property
    def css_class(self) -> str:
        """The class as styles name it."""
        return "open" if shown_class(self.run) == OPEN else shown_class(self.run).lower()


def shown_job(run: Job, judged: JobEfficiency | None) -> ShownJob:
    """A run with the title of its first finding."""
    codes = judged.finding_codes.split() if judged else []
    return ShownJob(job_label(run), job_url(run), run, judged, TITLES[FindingCode(codes[0])] if codes else "")


def recent_jobs(reach: Reach, limit: int) -> list[ShownJob]:
    """Own jobs, the latest first: one query."""
    runs = jobs_within(reach).filter(reach.own).select_related("efficiency").order_by("-ended_at", "-pk")
    return [shown_job(run, getattr(run, "efficiency", None)) for run in runs[:limit]]
