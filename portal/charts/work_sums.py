"""What the runs of each work add up to, in two queries for each part of the jobs that are looked through."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, F, Max, Q, Sum

from analysis.findings import FindingCode
from analysis.models import JobEfficiency
from jobs.models import Job
from portal.charts.run_classes import of_judgements, shown_class_in
from reports.wording import TITLES

UNNAMED = "Jobs without a name of their own"

COUNTED = Q(uncounted_reason="")
USED = F("gpu_hours") - F("wasted_gpu_hours")


@dataclass
class Sums:
    """The runs of one work; hours are of the counted ones that were measured, None where there is none of them.

    `last_at` is None where no run has ended; `latest_pk` is the newest run.
    """

    key: str
    jobs: int = 0
    last_at: datetime | None = None
    latest_pk: int = 0
    used_gpu_hours: float | None = None
    unused_gpu_hours: float | None = None
    classes: Counter[str] = field(default_factory=Counter)
    findings: Counter[str] = field(default_factory=Counter)

    @property
    def first_finding(self) -> tuple[FindingCode | None, int]:
        """The most frequent first cause and how many jobs have it: each job counts under the one its line names."""
        known = [(code, jobs) for code, jobs in self.findings.items() if code in TITLES]
        code, jobs = max(known, key=lambda pair: (pair[1], pair[0]), default=("", 0))
        return (FindingCode(code) if code else None), jobs


def sums_by_work(parts: Iterable[Q]) -> dict[str, Sums]:
    """All works by key: classes and findings are few, so the database adds up and little is read.

    The runs are counted without their judgements, and the judgements are added up without their runs: one index answers
    each. The parts are conditions on jobs and do not overlap.
    """
    found: dict[str, Sums] = {}
    for part in parts:
        runs = Job.objects.filter(part).order_by().values_list("work_key")
        for key, *row in runs.annotate(Count("pk"), Max("ended_at"), Max("pk")):
            _count(found.setdefault(key, Sums(key)), *row)
        judged = JobEfficiency.objects.filter(of_judgements(part)).order_by()
        kinds = judged.annotate(shown_class=shown_class_in("")).values_list("work_key", "shown_class", "finding_codes")
        hours = {"used": Sum(USED, filter=COUNTED), "unused": Sum("wasted_gpu_hours", filter=COUNTED)}
        for key, *row in kinds.annotate(Count("job"), **hours):
            _add(found.setdefault(key, Sums(key)), *row)
    return found


def _count(work: Sums, jobs: int, last_at: datetime | None, latest_pk: int) -> None:
    work.jobs += jobs
    work.last_at = max(filter(None, (work.last_at, last_at)), default=None)
    work.latest_pk = max(work.latest_pk, latest_pk)


def _add(work: Sums, shown_class: str, codes: str, jobs: int, used: float | None, unused: float | None) -> None:
    if used is not None and unused is not None:
        work.used_gpu_hours = (work.used_gpu_hours or 0.0) + used
        work.unused_gpu_hours = (work.unused_gpu_hours or 0.0) + unused
    work.classes[shown_class] += jobs
    for code in codes.split()[:1]:
        work.findings[code] += jobs
