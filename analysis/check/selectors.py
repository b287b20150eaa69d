"""Reading the earlier runs of the work that somebody is about to submit: their own alone, in a few queries."""

from dataclasses import dataclass
from datetime import datetime

import msgspec
from django.db.models import Max

from analysis.check.earlier import YEAR
from analysis.models import RecommendationRow
from analysis.selectors import measurements_of
from analysis.works.best_request import RUNS_MAX
from analysis.works.runs import PastRun
from analysis.works.selectors import past_runs_of_work
from jobs.models import Job, Project, User
from jobs.records import JobRecord
from jobs.sbatch import Shape
from jobs.selectors import record_of, works_named
from metrics.series import RunMetrics


@dataclass(frozen=True)
class NamedWork:
    """The work that a job of some name would belong to; `is_ambiguous`: the person has it in other projects too."""

    key: str
    project: Project
    is_ambiguous: bool


def named_work(user: User, cluster: str, job_name: str, account: str) -> tuple[NamedWork | None, tuple[str, ...]]:
    """The own work of this name, in this project or else in the one where it ran last; two queries.

    None for a name without a meaning, and where no run has it. Then the own projects in which runs of this name exist,
    by name, follow.
    """
    works = works_named(user, job_name, [cluster])
    ran = Job.objects.filter(user=user, work_key__in=works, ended_at__isnull=False).order_by()
    latest = dict(ran.values_list("work_key").annotate(Max("ended_at"))) if works else {}
    here = [key for key in latest if account.lower() in ("", works[key][1].name)]
    if not here:
        return None, tuple(sorted(works[key][1].name for key in latest))
    key = max(here, key=lambda key: latest[key])
    return NamedWork(key, works[key][1], is_ambiguous=len(here) > 1), ()


def latest_runs(user: User, key: str, now: datetime) -> list[PastRun]:
    """The latest own runs of a work that ended within a year before, as their predictions are settled: one query."""
    runs = Job.objects.filter(user=user, ended_at__gt=now - YEAR, ended_at__lte=now)
    return past_runs_of_work(runs, key, RUNS_MAX)


def measured(run: PastRun) -> tuple[JobRecord, RunMetrics] | None:
    """The record and the measurements of a run; None where it is no longer stored."""
    job = Job.objects.select_related("user", "project").filter(pk=run.pk).first()
    return None if job is None else (record_of(job), measurements_of(job))


def advised_shape(run: PastRun) -> Shape | None:
    """What the report of a run suggests to request instead of its GPUs: one query."""
    advised = RecommendationRow.objects.filter(efficiency__job=run.pk, kind="gpus")
    wanted = advised.values_list("wanted", flat=True).first()
    return None if wanted is None else msgspec.convert(wanted, Shape)
