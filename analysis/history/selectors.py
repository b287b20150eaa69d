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
)
from django.db.models.functions import Concat

from analysis.findings import Finding
from analysis.history.columns import Floats, RunColumns, run_columns
from analysis.history.costs import CostlyCause, costly_causes
from analysis.history.overview import Followed, WorkRun, followed
from analysis.history.periods import Period
from analysis.history.sums import UserSums, sums_by_user, trend_period
from analysis.models import FindingRow, JobEfficiency, RecommendationRow
from analysis.thresholds import RULES_VERSION
from jobs.models import Job, Project, User

FOLLOW_DAYS = 180
FOLLOW_RUNS_MAX = 2000
"""The latest runs of advised work that are compared; enough for a month of anyone's, and bounded for a robot's."""

CAUSES_LOOKED_AT_MAX = 2000
"""The latest runs that found causes are added up from; enough for a month of anyone's, and bounded for a robot's."""
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


@dataclass(frozen=True)
class BestAdvice:
    """The advice of one kind and basis: how often it was given, what it would have saved, and where last."""

    kind: str
    basis: str
    jobs: int
    potential_gpu_hours: float
    latest_pk: int


@dataclass(frozen=True)
class Member:
    """One member of a project, present or former, and the counted runs of a period."""

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
    """The runs that ended since then, and those that a trend looks at beside them."""
    return runs_of(whose, min(since, trend_period(now).start), now)


def judged(part: Q, since: datetime, until: datetime) -> QuerySet[JobEfficiency]:
    """The judgements of runs that ended in this time, in no order."""
    return JobEfficiency.objects.filter(part, ended_at__gte=since, ended_at__lt=until)


def told_by_owners(whose: Sequence[Q], period: Period) -> int:
    """How many judged runs of a period only their owners told of: those that sums over several people leave out."""
    return sum(judged(part, period.start, period.end).filter(is_told_by_owner=True).count() for part in whose)


def _unpacked(packed: bytes | memoryview | str | None) -> Floats:
    """The numbers that `Packed` made of a column: network order from PostgreSQL, words from SQLite."""
    if packed is None:
        return np.zeros(0)
    if isinstance(packed, str):
        return np.array(packed.split(SEPARATOR), dtype=np.float64)
    return np.frombuffer(packed, dtype=">f8").astype(np.float64)


def best_advice(part: Q, period: Period, limit: int) -> list[BestAdvice]:
    """The advice that would have saved most in the period: one query. Savings belong to the first advice of a run."""
    runs = judged(part, period.start, period.end).filter(uncounted_reason="", saved_gpu_hours__isnull=False)
    rows = RecommendationRow.objects.filter(efficiency__in=runs).exclude(kind="walltime").order_by()
    summed = rows.values_list("kind", "basis").annotate(
        Count("pk"), total=Sum("efficiency__saved_gpu_hours"), latest=Max("efficiency__job_id")
    )
    return [BestAdvice(*row) for row in summed.filter(total__gt=0).order_by("-total", "kind", "basis")[:limit]]


def costly_causes_in(part: Q, period: Period, limit: int) -> list[CostlyCause]:
    """What cost most in the counted runs of a period whose request fits: one query. The others have advice.

    Only what the present rules found is ranked: the evidence of earlier ones may hold other numbers.
    """
    runs = judged(part, period.start, period.end).filter(rules_version=RULES_VERSION)
    fitting = runs.filter(uncounted_reason="", saved_gpu_hours__isnull=True, gpu_hours__isnull=False)
    rows = FindingRow.objects.filter(position=0, efficiency__in=fitting).order_by("-efficiency__ended_at", "-pk")
    latest = rows.values("code", "confidence", "evidence", "efficiency__gpu_hours", "efficiency__job_id")
    return costly_causes(
        (
            (msgspec.convert(row, Finding), row["efficiency__gpu_hours"] or 0.0, row["efficiency__job_id"])
            for row in latest[:CAUSES_LOOKED_AT_MAX]
        ),
        limit,
    )


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
    gpus_advice = RecommendationRow.objects.filter(efficiency__job=OuterRef("pk"), kind="gpus")
    advised = Subquery(gpus_advice.values("recommended_gpus")[:1])
    columns = ("user_id", "project_id", "cluster", "work_key", "ended_at", "gpus_allocated")
    rows = keyed.annotate(hours=F("efficiency__gpu_hours"), advised=advised).order_by("-ended_at", "-pk")
    latest = [WorkRun(row[:4], *row[4:]) for row in rows.values_list(*columns, "hours", "advised")[:FOLLOW_RUNS_MAX]]
    return [followed([run for run in latest if run.ended_at < period.end], period.start) for period in periods]


def members_of(project: Project, runs: RunColumns, period: Period) -> list[Member]:
    """Every member, most GPU-hours first: two queries. Whoever left the project is listed while runs are."""
    roles = {
        row.user_id: (row.user.username, row.get_role_display()) for row in project.memberships.select_related("user")
    }
    sums = sums_by_user(runs, period)
    left = User.objects.filter(pk__in=sums.keys() - roles.keys()).values_list("pk", "username")
    known = roles | {pk: (username, LEFT) for pk, username in left}
    members = [Member(*known[pk], **asdict(sums.get(pk, UserSums()))) for pk in known]
    return sorted(members, key=lambda member: (-member.gpu_hours, member.username))
