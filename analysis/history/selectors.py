"""Reading runs for sums: whose they are comes from `jobs.selectors`, as conditions on `user` and `project`.

Every function costs a fixed number of queries, whatever the number of runs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import msgspec
import numpy as np
from django.db.models import (
    Aggregate,
    BinaryField,
    Case,
    CharField,
    Count,
    F,
    FloatField,
    Func,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Cast, Concat

from analysis.efficiency import EfficiencyClass
from analysis.findings import Finding, FindingCode
from analysis.history.columns import Floats, RunColumns, run_columns
from analysis.history.costs import CostlyCause, FirstCause, costly_causes
from analysis.history.overview import Followed, WorkRun, followed
from analysis.history.periods import Period
from analysis.history.sums import UserSums, sums_by_user, trend_period
from analysis.models import FindingRow, JobEfficiency, RecommendationRow
from analysis.thresholds import RULES_VERSION
from jobs.models import Job, Project, User

FOLLOW_DAYS = 180
FOLLOW_RUNS_MAX = 2000
"""The latest runs of advised work that are compared: enough for a month of a person, with a limit for automation."""

CAUSES_LOOKED_AT_MAX = 2000
"""The latest runs whose causes are added up: enough for a month of a person, with a limit for automation."""
LOW = (EfficiencyClass.INEFFICIENT.value, EfficiencyClass.WASTED.value)
LEFT = "no longer a member"
SEPARATOR = "|"


class Packed(Aggregate):
    """All numbers of a column as one value: a hundred thousand of them come as quickly as a row of text."""

    output_field = BinaryField()

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, Any]:
        packed = "string_agg(float8send(coalesce((%(expressions)s)::float8, 'NaN')), '')"
        return self.as_sql(compiler, connection, template=packed, **more)

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, Any]:
        listed = f"group_concat(coalesce(%(expressions)s, 'nan'), '{SEPARATOR}')"
        return self.as_sql(compiler, connection, template=listed, **more)


class Joined(Aggregate):
    """All texts of a column as one."""

    output_field = CharField()

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, Any]:
        return self.as_sql(compiler, connection, template=f"string_agg(%(expressions)s, '{SEPARATOR}')", **more)

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, Any]:
        return self.as_sql(compiler, connection, template=f"group_concat(%(expressions)s, '{SEPARATOR}')", **more)


class Seconds(Func):
    """An instant in seconds since 1970."""

    output_field = FloatField()

    def as_postgresql(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, Any]:
        return self.as_sql(compiler, connection, template="extract(epoch from %(expressions)s)", **more)

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> tuple[str, Any]:
        return self.as_sql(compiler, connection, template="strftime('%%%%s', %(expressions)s)", **more)


LABEL = Concat(
    "efficiency_class", Value("/"), "uncounted_reason", Value("/"), "finding_codes", output_field=CharField()
)
NUMBERS = {
    "user": F("user_id"),
    "ended_s": Seconds("ended_at"),
    "started_s": Seconds("started_at"),
    "util": F("avg_gpu_util"),
    "gpu_hours": F("gpu_hours"),
    "wasted_gpu_hours": F("wasted_gpu_hours"),
    "saved_gpu_hours": F("saved_gpu_hours"),
}


# Runs that nothing names are each a work of its own.
WORK = Case(
    When(job__work_key="", then=Cast("job_id", CharField())), default=F("job__work_key"), output_field=CharField()
)


@dataclass(frozen=True)
class WorkSaving:
    """What the advice on the runs of one work would have saved, and when the latest of them ended."""

    work: str
    jobs: int
    gpu_hours: float
    latest_at: datetime


@dataclass(frozen=True)
class WorkSums:
    """The counted runs of one work, by its key; hours are None where no price is known."""

    key: str
    jobs: int
    gpu_hours: float | None
    wasted_gpu_hours: float | None
    saved_gpu_hours: float | None
    latest_pk: int


@dataclass(frozen=True)
class Member:
    """One member of a project, present or former, and the counted runs of a period."""

    pk: int
    username: str
    role: str
    jobs: int
    gpu_hours: float
    wasted_gpu_hours: float
    mean_util: float | None


def runs_of(whose: Sequence[Q], since: datetime, until: datetime) -> RunColumns:
    """The judged runs that ended in this time: one query for each part of `whose`, and no part may overlap another."""
    labels: list[str] = []
    numbers: dict[str, list[Floats]] = {name: [] for name in NUMBERS}
    packed = {f"{name}_packed": Packed(column) for name, column in NUMBERS.items()}
    for part in whose:
        read = judged(part, since, until).aggregate(label=Joined(LABEL), **packed)
        for name, values in numbers.items():
            values.append(_unpacked(read[f"{name}_packed"]))
        if len(numbers["user"][-1]):
            labels += read["label"].split(SEPARATOR)
    return run_columns(labels, **{name: np.concatenate(values) for name, values in numbers.items()})


def runs_and_trend(whose: Sequence[Q], since: datetime, now: datetime) -> RunColumns:
    """The runs that ended since then, and those that a trend needs in addition."""
    return runs_of(whose, min(since, trend_period(now).start), now)


def judged(part: Q, since: datetime, until: datetime) -> QuerySet[JobEfficiency]:
    """The judgements of runs that ended in this time, in no order."""
    return JobEfficiency.objects.filter(part, ended_at__gte=since, ended_at__lt=until)


def listed_by_user(part: Q, period: Period) -> dict[int, int]:
    """How many runs of each owner, by key, a list of jobs of a period shows, judged or not: one query."""
    runs = Job.objects.filter(part, ended_at__gte=period.start, ended_at__lt=period.end)
    return dict(runs.values_list("user_id").annotate(Count("pk")).order_by())


def told_by_owners(whose: Sequence[Q], period: Period) -> int:
    """How many judged runs of a period only their owners reported: sums over several people leave them out."""
    return sum(judged(part, period.start, period.end).filter(is_told_by_owner=True).count() for part in whose)


def _unpacked(packed: bytes | memoryview | str | None) -> Floats:
    """The numbers that `Packed` made of a column: network order from PostgreSQL, words from SQLite."""
    if packed is None:
        return np.zeros(0)
    if isinstance(packed, str):
        return np.array(packed.split(SEPARATOR), dtype=np.float64)
    return np.frombuffer(packed, dtype=">f8").astype(np.float64)


def savings_of_works(part: Q, period: Period, limit: int) -> list[WorkSaving]:
    """The works whose advice would have saved most in the period, each run once: one query.

    A work whose latest counted run has nothing left to save was changed already, and is left out.
    """
    saving = Max("ended_at", filter=Q(saved_gpu_hours__isnull=False))
    summed = judged(part, period.start, period.end).filter(uncounted_reason="").annotate(work=WORK).values("work")
    totals = summed.annotate(
        jobs=Count("saved_gpu_hours"), total=Sum("saved_gpu_hours"), latest=Max("ended_at"), latest_saving=saving
    )
    left = totals.filter(total__gt=0, latest_saving=F("latest")).order_by("-total", "work")
    return [WorkSaving(*row) for row in left.values_list("work", "jobs", "total", "latest")[:limit]]


def latest_savings(part: Q, savings: Sequence[WorkSaving]) -> dict[str, JobEfficiency]:
    """By work its latest run with advice, with the run and its recommendations: two queries."""
    ends = {saving.latest_at for saving in savings}
    rows = JobEfficiency.objects.filter(part, ended_at__in=ends, saved_gpu_hours__isnull=False, uncounted_reason="")
    named = rows.annotate(work=WORK).filter(work__in=[saving.work for saving in savings]).order_by("ended_at", "pk")
    at = {saving.work: saving.latest_at for saving in savings}
    found = named.select_related("job").prefetch_related("recommendations")
    return {row.work: row for row in found if at[row.work] == row.ended_at}


def costly_causes_in(part: Q, period: Period, limit: int) -> list[CostlyCause]:
    """What cost most in the counted runs of a period whose request fits: two queries. The others have advice.

    Only what the present rules found is ranked: the evidence of earlier ones may hold other numbers. What the latest
    counted run of a work no longer has was fixed already, and low use without a clear cause names nothing to fix: both
    are left out.
    """
    counted = judged(part, period.start, period.end).filter(uncounted_reason="")
    fitting = counted.filter(rules_version=RULES_VERSION, saved_gpu_hours__isnull=True, gpu_hours__isnull=False)
    named = FindingRow.objects.filter(position=0, efficiency__in=fitting).exclude(code=FindingCode.LOW_USE_UNEXPLAINED)
    rows = named.order_by("-efficiency__ended_at", "-pk")
    run = {"hours": F("efficiency__gpu_hours"), "run": F("efficiency__job_id"), "at": F("efficiency__ended_at")}
    run["unused"] = F("efficiency__wasted_gpu_hours")
    latest: Any = rows.values("code", "confidence", "evidence", key=F("efficiency__job__work_key"), **run)
    found = costly_causes(
        FirstCause(
            msgspec.convert(row, Finding),
            row["key"] or str(row["run"]),
            row["hours"],
            row["run"],
            row["at"],
            row["unused"],
        )
        for row in latest[:CAUSES_LOOKED_AT_MAX]
    )
    of_works = counted.annotate(work=WORK).filter(work__in={cause.work for cause in found})
    ends = dict(of_works.values_list("work").annotate(Max("ended_at")))
    return [cause for cause in found if ends.get(cause.work) == cause.latest_at][:limit]


def works_of(part: Q, period: Period, limit: int) -> list[WorkSums]:
    """The works with the most unused GPU-hours among the counted runs of a period: one query.

    Runs that nothing names are added up as one, with an empty key.
    """
    runs = judged(part, period.start, period.end).filter(uncounted_reason="").values("job__work_key")
    sums = runs.annotate(
        jobs=Count("pk"), hours=Sum("gpu_hours"), wasted=Sum("wasted_gpu_hours"), saved=Sum("saved_gpu_hours")
    )
    rows = sums.annotate(latest=Max("job_id")).order_by(F("wasted").desc(nulls_last=True), "job__work_key")
    columns = ("job__work_key", "jobs", "hours", "wasted", "saved", "latest")
    return [WorkSums(*row) for row in rows.values_list(*columns)[:limit]]


def worst_run(part: Q, since: datetime, until: datetime) -> JobEfficiency | None:
    """The counted run of a low class with the most unused GPU-hours of those that ended in this time: one query."""
    runs = judged(part, since, until).filter(uncounted_reason="", wasted_gpu_hours__gt=0, efficiency_class__in=LOW)
    return runs.select_related("job").order_by("-wasted_gpu_hours", "-ended_at").first()


def followed_in(part: Q, periods: Sequence[Period]) -> list[Followed]:
    """What following advice on GPUs saved in each period: one query, over the latest runs of keyed work."""
    since = min(period.start for period in periods) - timedelta(days=FOLLOW_DAYS)
    keyed = Job.objects.filter(
        part,
        ended_at__gte=since,
        ended_at__lt=max(period.end for period in periods),
        gpus_allocated__gt=0,
        state="COMPLETED",
        efficiency__uncounted_reason="",
        efficiency__gpu_hours__isnull=False,
    ).exclude(work_key="")
    columns = ("user_id", "project_id", "cluster", "work_key", "ended_at", "gpus_allocated")
    rows = keyed.annotate(hours=F("efficiency__gpu_hours"), advised=advised_gpus()).order_by("-ended_at", "-pk")
    latest = [WorkRun(row[:4], *row[4:]) for row in rows.values_list(*columns, "hours", "advised")[:FOLLOW_RUNS_MAX]]
    return [followed([run for run in latest if run.ended_at < period.end], period.start) for period in periods]


def advised_gpus() -> Subquery:
    """The number of GPUs that the report of each run advises; None for no such advice."""
    gpus_advice = RecommendationRow.objects.filter(efficiency__job=OuterRef("pk"), kind="gpus")
    return Subquery(gpus_advice.values("recommended_gpus")[:1])


def members_of(project: Project, runs: RunColumns, period: Period) -> list[Member]:
    """Every member, most GPU-hours first: two queries. Former members are listed while their runs are."""
    roles = {
        row.user_id: (row.user.username, row.get_role_display()) for row in project.memberships.select_related("user")
    }
    sums = sums_by_user(runs, period)
    left = User.objects.filter(pk__in=sums.keys() - roles.keys()).values_list("pk", "username")
    known = roles | {pk: (username, LEFT) for pk, username in left}
    members = [Member(pk, *known[pk], **asdict(sums.get(pk, UserSums()))) for pk in known]
    return sorted(members, key=lambda member: (-member.gpu_hours, member.username))
