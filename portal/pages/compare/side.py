"""One run as a column of the comparison."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.models import JobEfficiency
from analysis.selectors import judged_metrics
from jobs.models import Job
from jobs.selectors import record_of
from portal.pages.compare.use_chart import ENDED, STILL_RUNNING, UseOfRun, use_of_run
from reports.job_report import FindingView
from reports.measured_part import unmeasured_hours
from reports.numbers import NOT_MEASURED, used_hours
from reports.sections import css_class, judged_name
from reports.selectors import made_report, report_row
from reports.services.links import run_key


@dataclass(frozen=True)
class Side:
    """What stands in one column; `judged` is None while there is no judgement, `findings` while there is no report.

    `class_name` and `css_class` are as on the run's own page, empty while there is no report.
    """

    run: Job
    key: str
    judged: JobEfficiency | None
    class_name: str
    css_class: str
    findings: tuple[FindingView, ...] | None
    wait_s: float | None
    use: UseOfRun

    @property
    def used_gpu_hours(self) -> float | None:
        """Billed GPU-hours that were used; None where the use or the bill is not known."""
        if self.judged is None or self.judged.gpu_hours is None or self.judged.wasted_gpu_hours is None:
            return None
        billed, judged = self.judged.gpu_hours, self.judged
        unmeasured = unmeasured_hours(billed, judged.coverage_fraction, is_partial=judged.is_partial)
        return used_hours(billed, judged.wasted_gpu_hours or 0.0, unmeasured)


def side(run: Job) -> Side:
    """A run the caller may see, its measurements read once."""
    judged, row = getattr(run, "efficiency", None), report_row(run)
    report = made_report(row) if row else None
    course = bytes(judged.use_course) if judged and judged.use_course else None
    return Side(
        run=run,
        key=run_key(run),
        judged=judged,
        class_name=judged_name(report) if report else "",
        css_class=css_class(report) if report else "",
        findings=report.findings if report else None,
        wait_s=record_of(run).queue_wait_s,
        use=use_of_run(
            f"Job {run.job_id}", run.walltime_used_s, judged_metrics(run), course, after_last=_after_last(run)
        ),
    )


def _after_last(run: Job) -> str:
    """What is known of the run at times past those of its record."""
    if run.started_at is None:
        return NOT_MEASURED
    return ENDED if run.ended_at is not None else STILL_RUNNING
