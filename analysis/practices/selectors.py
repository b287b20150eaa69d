"""Reading the works of months for what they did together, and the months that are stored."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import lru_cache
from typing import Any

from analysis.anonymous.bands import ProgramOf
from analysis.history.periods import months_later
from analysis.months.selectors import MONTHS, latest_figures, latest_months, month_ends, next_month
from analysis.outcomes.following import Status
from analysis.outcomes.models import AdviceOutcome
from analysis.practices.figures import HALF, Change, MistakeFigures, MonthPractices, PracticeFigures, WorkFindings
from analysis.practices.halving import SizedRun, halvings
from analysis.rollups.selectors import start_of
from analysis.site.selectors import counted_runs
from analysis.thresholds import LIMITS
from jobs.hardware import partition_of
from jobs.work_key import is_trial

BEFORE = timedelta(days=90)
"""Runs on all of the GPUs that ended so long before a month still count for what half of them did."""

COMPLETED = "COMPLETED"

RUN_COLUMNS = (
    *("user_id", "project_id", "work_key", "allocated_gpus", "gpu_hours", "wasted_gpu_hours", "finding_codes"),
    *("ended_at", "job__walltime_used_s", "job__state", "job__job_name", "job__cluster", "job__partition"),
)
OUTCOME_COLUMNS = (
    *("user_id", "project_id", "work_key", "kind", "status", "given_at", "following_runs", "failed_runs"),
    *("compared_runs", "run_s_after", "gpu_hours_after"),
    *("job__walltime_used_s", "job__efficiency__gpu_hours", "job__job_name"),
)
WorkKey = tuple[int, int, str]
"""Person, project and key of a work."""


@dataclass(frozen=True)
class WorkRun:
    """One counted run; columns as in `RUN_COLUMNS`."""

    user: int
    project: int
    work_key: str
    gpus: int
    gpu_hours: float
    unused_gpu_hours: float | None
    codes: str
    ended_at: datetime
    run_s: float | None
    state: str
    job_name: str
    cluster: str
    partition: str

    @property
    def work(self) -> WorkKey:
        return self.user, self.project, self.work_key

    @property
    def is_comparable(self) -> bool:
        """Whether its run time can be compared: run to its end on GPUs, not too short, no trial."""
        is_long = (self.run_s or 0.0) >= LIMITS.short_job_s
        return bool(self.gpus and is_long and self.state == COMPLETED and not is_trial(self.job_name))


def works_of_people(since: date, until: date) -> Iterator[dict[WorkKey, list[WorkRun]]]:
    """The counted runs with a record from Slurm that ended in these days, by work: of some people at a time."""
    for rows in counted_runs(start_of(since) - BEFORE, start_of(until)):
        works: dict[WorkKey, list[WorkRun]] = defaultdict(list)
        for row in rows.exclude(work_key="").values_list(*RUN_COLUMNS).iterator():
            run = WorkRun(*row)
            works[run.work].append(run)
        yield works


def work_findings(works: dict[WorkKey, list[WorkRun]], month: date) -> list[WorkFindings]:
    """The works with runs in a month, with their findings of that month."""
    start, end = month_ends(month)
    found = []
    for (user, project, _), runs in works.items():
        within = [run for run in runs if start <= run.ended_at < end]
        unused: dict[str, float] = defaultdict(float)
        codes: set[str] = set()
        for run in within:
            codes.update(run.codes.split())
            for code in run.codes.split() if run.unused_gpu_hours is not None else ():
                unused[code] += run.unused_gpu_hours or 0.0
        if within:
            found.append(WorkFindings(user, project, frozenset(codes), dict(unused)))
    return found


def works_halved(works: dict[WorkKey, list[WorkRun]], program_of: ProgramOf) -> Iterator[tuple[datetime, Change]]:
    """When works went to half of their GPUs, and what that did."""
    for (user, project, _), runs in works.items():
        sized = [_sized(run) for run in runs if run.is_comparable]
        program = program_of(runs[-1].job_name)
        for step in halvings(sized):
            time, hours = step.run_time_fraction, step.gpu_hours_fraction
            yield step.at, Change(user, project, HALF, program, run_time_fraction=time, gpu_hours_fraction=hours)


def _sized(run: WorkRun) -> SizedRun:
    return SizedRun(run.gpus, run.run_s or 0.0, run.gpu_hours, run.ended_at, hardware(run.cluster, run.partition))


@lru_cache(maxsize=1024)
def hardware(cluster: str, partition: str) -> str:
    """The kind of node, by its description, or by the partition where that is not described."""
    known = partition_of(cluster, partition)
    return f"{cluster} {known.node if known else partition}"


def works_advised(since: date, until: date, program_of: ProgramOf) -> dict[str, list[tuple[datetime, Change]]]:
    """Works by kind of advice that they got in these days and that had later runs: with when, once for each work.

    A work that followed counts with the last advice that it followed in full, else as one that did not.
    """
    given = AdviceOutcome.objects.filter(given_at__gte=start_of(since), given_at__lt=start_of(until))
    rows = given.filter(later_runs__gt=0).order_by("given_at", "pk")
    latest: dict[tuple[str, int, int, str], tuple[datetime, Change]] = {}
    for row in rows.values_list(*OUTCOME_COLUMNS).iterator():
        user, project, work_key, kind, status, given_at, *rest = row
        key = kind, user, project, work_key
        is_followed = status == Status.FOLLOWED
        if is_followed or key not in latest:
            latest[key] = given_at, _advised(user, project, kind, is_followed, rest, program_of)
    found: dict[str, list[tuple[datetime, Change]]] = defaultdict(list)
    for (kind, *_), each in latest.items():
        found[kind].append(each)
    return found


def _advised(
    user: int, project: int, kind: str, is_followed: bool, rest: Sequence[Any], program_of: ProgramOf
) -> Change:
    """What the followers of one piece of advice took and were billed, where all of them can be compared."""
    following, failed, compared, run_s_after, hours_after, run_s, gpu_hours, job_name = rest
    is_compared = is_followed and bool(following) and compared == following
    return Change(
        user=user,
        project=project,
        kind=kind,
        program=program_of(job_name),
        is_followed=is_followed,
        run_time_fraction=_fraction(run_s_after, run_s) if is_compared else None,
        gpu_hours_fraction=_fraction(hours_after, gpu_hours) if is_compared else None,
        following_runs=following if is_followed else 0,
        failed_runs=failed if is_followed else 0,
    )


def _fraction(after: float | None, before: float | None) -> float | None:
    return None if after is None or before is None or before <= 0 else after / before


def closed_months() -> list[tuple[date, MonthPractices]]:
    """The latest months that are stored, the latest first."""
    return latest_figures("practices", MonthPractices)


def first_day_of(kind: str, month: date) -> date:
    """From which month on the changes of a kind are in no stored row yet; at most a year back."""
    for row in latest_months("practices", before=month)[: MONTHS - 1]:
        if any(each["kind"] == kind for each in row.figures["practices"]):
            return next_month(row.first_day)
    return months_later(month, 1 - MONTHS)


@dataclass(frozen=True)
class ShownPractice:
    """A practice and the month that its works end with."""

    figures: PracticeFigures
    until: date


Months = Sequence[tuple[date, MonthPractices]]
"""As `closed_months` has them."""


def shown_practices(months: Months) -> list[ShownPractice]:
    """Of each kind the latest row that has it, with the programs of that row; all works before programs."""
    shown: dict[str, list[ShownPractice]] = {}
    for day, month in months:
        kinds = {each.kind for each in month.practices}
        for kind in kinds - shown.keys():
            shown[kind] = [ShownPractice(each, day) for each in month.practices if each.kind == kind]
    found = [each for rows in shown.values() for each in rows]
    return sorted(found, key=lambda each: (bool(each.figures.program), -each.figures.followed, each.figures.kind))


def shown_mistakes(months: Months) -> tuple[date, list[MistakeFigures]] | None:
    """The findings of the latest month that has any; None without one."""
    return next(((day, month.mistakes) for day, month in months if month.mistakes), None)
