"""Reading predictions; whose they are the caller has decided."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from datetime import date, datetime, timedelta

import msgspec
from django.db.models import Exists, OuterRef, Q, QuerySet

from analysis.check.earlier import YEAR
from analysis.models import RecommendationRow
from analysis.months.selectors import latest_figures, months_with
from analysis.predictions.calibration import Checked, MethodFigures
from analysis.predictions.expected import Known
from analysis.predictions.models import MethodRecord, Prediction
from analysis.predictions.quantities import Answer, Method, Quantity
from analysis.predictions.widening import Factors
from analysis.queue_waits.rule import HELD_S, WAIT_S_MIN
from analysis.rightsizing import RecommendationKind
from analysis.rollups.selectors import start_of
from analysis.works.best_request import RUNS_MAX
from analysis.works.runs import PastRun
from analysis.works.selectors import past_runs_of_work
from jobs.models import Job
from jobs.sbatch import Shape
from jobs.selectors import BY_SITE

PREDICTIONS_MAX = 600
"""The latest predictions of a work whose answers are determined: older ones stay as they are."""

SETTLED_AFTER = timedelta(days=7)
"""A month is added up this long after its end: what was answered then is stored by then."""


@dataclass(frozen=True)
class PredictionValue:
    """One prediction that a run answered; columns as in `models.Prediction`.

    `actual` in the unit of the quantity; with the answer "exceeded" the run took at least that.
    """

    source: str
    quantity: str
    method: str
    method_version: int
    partition: str
    nodes: int
    gpus: int
    low: float | None
    typical: float
    high: float | None
    promised_fraction: float | None
    runs: int
    given_at: datetime
    answer: str
    actual: float | None
    answered_at: datetime | None

    @property
    def error_fraction(self) -> float | None:
        """Actual divided by typical, minus 1: above 0 it took more than predicted. None where that is not known."""
        if self.answer != "answered" or self.actual is None or self.typical <= 0:
            return None
        return self.actual / self.typical - 1

    @property
    def is_inside(self) -> bool | None:
        """Whether the run was within the range; None without a range."""
        if self.low is None or self.high is None or self.actual is None:
            return None
        return self.answer == "answered" and self.low <= self.actual <= self.high


VALUE_COLUMNS = tuple(column.name for column in fields(PredictionValue))


def predictions_of(job_pks: Collection[int]) -> Mapping[int, list[PredictionValue]]:
    """What had been stated for each of these runs, of those that answer a prediction: one query.

    Without the rows of the method that was not chosen, and without ranges that were kept and not stated.
    """
    rows = Prediction.objects.filter(job__in=job_pks, is_shown=True).order_by("job", "source", "quantity", "method")
    found: dict[int, list[PredictionValue]] = {}
    for pk, is_range_stated, *values in rows.values_list("job_id", "is_range_stated", *VALUE_COLUMNS):
        value = PredictionValue(*values)
        if not is_range_stated:
            value = replace(value, low=None, high=None, promised_fraction=None)
        found.setdefault(pk, []).append(value)
    return found


@dataclass(frozen=True)
class RunTimes:
    """When a run was submitted, could start and started, and whose project it is of."""

    submitted_at: datetime | None
    eligible_at: datetime | None
    started_at: datetime | None
    project: int

    @property
    def known_submission(self) -> datetime | None:
        return self.submitted_at or self.started_at

    @property
    def wait_s(self) -> float | None:
        """How long only the queue delayed it, as estimates of waits count; None where something else did too."""
        if self.submitted_at is None or self.eligible_at is None or self.started_at is None:
            return None
        wait_s = (self.started_at - self.eligible_at).total_seconds()
        is_held = (self.eligible_at - self.submitted_at).total_seconds() > HELD_S
        return None if is_held or wait_s < 0 else max(wait_s, WAIT_S_MIN)


def times_of(job_pks: Collection[int]) -> dict[int, RunTimes]:
    """These runs by key: one query."""
    columns = ("pk", "submitted_at", "eligible_at", "started_at", "project_id")
    return {pk: RunTimes(*times) for pk, *times in Job.objects.filter(pk__in=job_pks).values_list(*columns)}


def runs_of_work(user_pk: int, work_key: str, now: datetime) -> list[PastRun]:
    """The latest runs of one work that ended within a year before, by Slurm's record, the latest first: one query."""
    own = Job.objects.filter(BY_SITE, user=user_pk, ended_at__gt=now - YEAR, ended_at__lte=now)
    return past_runs_of_work(own, work_key, RUNS_MAX)


def latest_predictions(user_pk: int, work_key: str) -> list[Prediction]:
    """The latest predictions of one work, answered or not, the latest first: one query."""
    rows = Prediction.objects.filter(user=user_pk, work_key=work_key)
    return list(rows.order_by("-given_at", "-pk")[:PREDICTIONS_MAX])


def advised_request(job_pk: int) -> tuple[Shape, float] | None:
    """The request that the report of a run suggests, and how long it assumes that such a run takes: one query.

    None where it suggests no other number of GPUs, or leaves the GPUs.
    """
    rows = RecommendationRow.objects.filter(efficiency__job=job_pk, kind=RecommendationKind.GPUS)
    found = rows.values_list("wanted", "efficiency__savings").first()
    if found is None or not found[1]:
        return None
    wanted = msgspec.convert(found[0], Shape)
    return (wanted, found[1]["run_s"]) if wanted.gpus and found[1]["run_s"] > 0 else None


def known_of_methods() -> Known:
    """What the last calibration showed of each method and quantity: one query."""
    rows = {(Method(row.method), Quantity(row.quantity)): row for row in MethodRecord.objects.all()}
    return Known(
        missing=frozenset(kind for kind, row in rows.items() if row.misses_promise),
        factors={
            kind: Factors(row.low_factor, row.high_factor, row.answered)
            for kind, row in rows.items()
            if row.low_factor is not None and row.high_factor is not None
        },
    )


CHECKED_COLUMNS = (
    *("user_id", "work_key", "method", "quantity", "answer", "low", "typical", "high", "actual"),
    *("is_widened", "is_range_stated", "promised_fraction"),
)


def _latest_of_run(rows: QuerySet[Prediction]) -> QuerySet[Prediction]:
    """Without what was predicted again, after another report or for a check, before the run that answered was
    submitted: of each run, method and quantity the prediction that was given last.
    """
    given_at, pk = OuterRef("given_at"), OuterRef("pk")
    again = Prediction.objects.filter(job=OuterRef("job"), method=OuterRef("method"), quantity=OuterRef("quantity"))
    return rows.exclude(Exists(again.filter(Q(given_at__gt=given_at) | Q(given_at=given_at, pk__gt=pk))))


def _checked(rows: QuerySet[Prediction]) -> Iterator[Checked]:
    """Answered predictions as the calibration reads them, the latest first: a run counts once for each kind."""
    for user, work, method, quantity, answer, low, typical, high, actual, *basis, promised in (
        _latest_of_run(rows).order_by("-answered_at", "-pk").values_list(*CHECKED_COLUMNS).iterator()
    ):
        is_exact = answer == Answer.ANSWERED
        error = actual / typical - 1 if is_exact and typical > 0 else None
        is_inside = None if promised is None else is_exact and low <= actual <= high
        yield Checked(user, work, method, quantity, error, promised, is_inside, *basis)


def checked_since(since: datetime) -> Iterator[Checked]:
    """Every prediction that was answered since."""
    return _checked(Prediction.objects.filter(answered_at__gte=since))


def checked_of_work(user_pk: int, work_key: str) -> list[Checked]:
    """The predictions of one work that were stated and answered, with stated ranges, the latest first: one query.

    As the calibration counts them: where a later one of the same run was not stated, neither counts.
    """
    shown = Prediction.objects.filter(user=user_pk, work_key=work_key, is_shown=True, answered_at__isnull=False)
    return [
        row if row.is_range_stated else replace(row, promised_fraction=None, is_inside=None) for row in _checked(shown)
    ]


def checked_between(first: date, until: date) -> Iterator[Checked]:
    """The predictions that were answered from one day of the site until before another."""
    return _checked(Prediction.objects.filter(answered_at__gte=start_of(first), answered_at__lt=start_of(until)))


def months_with_checks(months: Sequence[date]) -> list[date]:
    """Those of these months in which predictions were answered."""
    return months_with(Prediction.objects.all(), "answered_at", months)


def closed_months() -> Sequence[tuple[date, list[MethodFigures]]]:
    """The latest months that are added up, the oldest first."""
    return latest_figures("predictions", list[MethodFigures])[::-1]


def methods_that_miss() -> list[MethodRecord]:
    """How the methods that miss their promise did, by the last calibration: one query."""
    return list(MethodRecord.objects.filter(misses_promise=True).order_by("quantity", "method"))
