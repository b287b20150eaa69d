"""Keeping predictions: with each new judgement of a work its predictions are answered and new ones are made."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime, timedelta

from django.db import transaction

from analysis.exports.services import note_compared
from analysis.months.kind import MonthKind
from analysis.months.selectors import next_month
from analysis.next_request import bill
from analysis.predictions.calibration import by_kind, month_figures
from analysis.predictions.expected import HOUR_S, Expected, Known, expected, hardware_of, is_true, request_of, value_of
from analysis.predictions.models import MethodRecord, Prediction
from analysis.predictions.quantities import VERSIONS, Answer, Method, Quantity, Source, fingerprint
from analysis.predictions.selectors import (
    SETTLED_AFTER,
    RunTimes,
    advised_request,
    checked_between,
    checked_since,
    known_of_methods,
    latest_predictions,
    months_with_checks,
    runs_of_work,
    times_of,
)
from analysis.predictions.validation import Answered, EndedRun, Given, answers
from analysis.predictions.widening import kept
from analysis.works.runs import PastRun
from jobs.expiry.services import remove_rows
from jobs.hardware import partition_of
from jobs.records import SYSTEM_FAILURES

CALIBRATED = timedelta(days=90)
"""A method is judged by what was answered within this time: long enough for rare works, short enough to recover."""

OPEN_MAX = 200
"""Predictions of one work that wait for a run; of more the oldest are deleted: requests that are never submitted."""


@dataclass(frozen=True)
class Occasion:
    """Whose next run is predicted, and when."""

    user: int
    project: int
    cluster: str
    work_key: str
    source: Source
    at: datetime


@dataclass(frozen=True)
class Place:
    """The request that a prediction is for; columns as in `models.Prediction`."""

    partition: str
    nodes: int
    gpus: int
    limit_s: float | None


@dataclass(frozen=True)
class Stated:
    """One number for the next run, with a range or without one; columns as in `models.Prediction`."""

    quantity: Quantity
    method: Method
    typical: float
    low: float | None = None
    high: float | None = None
    promised_fraction: float | None = None
    is_widened: bool = False
    is_range_stated: bool = True
    runs: int = 0
    is_shown: bool = True


def stated(found: Iterable[Expected]) -> Iterator[Stated]:
    """What every method expects; the first of each quantity is shown.

    The range of a method that misses its promise is kept as well: only so can it be seen to keep it again.
    """
    for each in found:
        for place, made in enumerate(each.methods):
            yield Stated(
                quantity=each.quantity,
                method=made.method,
                is_widened=made.factors is not None,
                is_range_stated=made.has_range,
                is_shown=place == 0,
                **asdict(made.predicted),
            )


Predictions = Iterable[tuple[Place, Stated]]


def record(occasion: Occasion, predictions: Predictions, waits: Predictions = ()) -> None:
    """Store these predictions, without what was predicted on the same day for the same request and is still open.

    One statement, which two at once may execute: none fails, and nothing is stored twice.
    """
    of_waits = replace(occasion, source=Source.WAIT)
    rows = [_row(occasion, place, each) for place, each in predictions]
    rows += [_row(of_waits, place, each) for place, each in waits]
    Prediction.objects.bulk_create(rows, ignore_conflicts=True)


def record_asked(occasion: Occasion, predictions: Predictions, waits: Predictions) -> None:
    """The same for a request that somebody asked about: of very many that are never submitted the oldest go."""
    record(occasion, predictions, waits)
    waiting = Prediction.objects.filter(user=occasion.user, work_key=occasion.work_key, job__isnull=True)
    too_many = list(waiting.order_by("-given_at", "-pk").values_list("pk", flat=True)[OPEN_MAX:])
    if too_many:
        Prediction.objects.filter(pk__in=too_many, job__isnull=True).delete()


def _row(occasion: Occasion, place: Place, each: Stated) -> Prediction:
    request = (place.partition, place.nodes, place.gpus, place.limit_s)
    return Prediction(
        user_id=occasion.user,
        project_id=occasion.project,
        cluster=occasion.cluster,
        work_key=occasion.work_key,
        source=occasion.source.value,
        method_version=VERSIONS[each.method],
        fingerprint=fingerprint(
            occasion.source, each.quantity, each.method, request, occasion.at.astimezone(UTC).date()
        ),
        given_at=occasion.at,
        **asdict(place),
        **asdict(each) | {"quantity": each.quantity.value, "method": each.method.value},
    )


def settle(user_pk: int, work_key: str, now: datetime) -> None:
    """Answer the predictions of one work with the runs that ended, then predict its next run.

    Safe to repeat; called after every judgement of the work, by one worker at a time.
    """
    runs = runs_of_work(user_pk, work_key, now)
    if not runs:
        return
    times = times_of([run.pk for run in runs])
    validate(latest_predictions(user_pk, work_key), runs, times, now)
    latest = next((run for run in runs if run.is_judged and run.gpus and not run.is_trial and run.pk in times), None)
    if latest is not None:
        source = Source.RECOMMENDATION
        occasion = Occasion(user_pk, times[latest.pk].project, latest.cluster, work_key, source, now)
        record(occasion, _of_the_next(runs, latest, known_of_methods()))


def _of_the_next(runs: Sequence[PastRun], latest: PastRun, known: Known) -> Iterator[tuple[Place, Stated]]:
    """For the next run with the request of the latest one, and with what its report suggests."""
    again = Place(latest.partition, latest.nodes or 1, latest.gpus or 0, latest.walltime_s)
    per_hour = HOUR_S * latest.gpu_hours / latest.elapsed_s if latest.gpu_hours and latest.elapsed_s else None
    yield from ((again, each) for each in stated(expected(runs, request_of(latest), per_hour, known)))
    advised = advised_request(latest.pk)
    if advised is None or advised[0].gpus == latest.gpus:
        return
    wanted, run_s = advised
    place = Place(wanted.partition or latest.partition, wanted.nodes, wanted.gpus, wanted.walltime_s)
    yield place, Stated(Quantity.RUN_S, Method.ADVICE, run_s)
    cost = bill(partition_of(latest.cluster, place.partition), wanted, run_s)
    if cost:
        yield place, Stated(Quantity.GPU_HOURS, Method.ADVICE, cost)


def validate(
    predictions: Sequence[Prediction], runs: Sequence[PastRun], times: dict[int, RunTimes], now: datetime
) -> None:
    """Store which run answers each of these predictions of one work; only rows that change are written.

    What another run answers now, because its record arrived late, is stored anew: so no two rows are of one run at any
    time.
    """
    if not predictions:
        return
    found = answers(map(_given, predictions), [run for each in runs if (run := _ended(each, times.get(each.pk)))])
    read = {run.pk for run in runs}
    first: list[Prediction] = []
    again: list[Prediction] = []
    compared: set[int | None] = set()
    for row in predictions:
        if row.job_id is not None and row.job_id not in read:
            continue
        wanted = found.get(row.pk)
        if (row.job_id, row.answer, row.actual) == _stored(wanted):
            continue
        (first if row.job_id is None else again).append(row)
        compared.add(row.job_id)
        row.job_id, row.answer, row.actual = _stored(wanted)
        compared.add(row.job_id)
        row.answered_at = None if wanted is None else now
    if again:
        Prediction.objects.filter(pk__in=[row.pk for row in again]).delete()
    if first:
        Prediction.objects.bulk_update(first, ["job", "answer", "actual", "answered_at"])
    for row in again:
        row.pk = None
    Prediction.objects.bulk_create(again, ignore_conflicts=True)
    note_compared(compared - {None}, now)


def _stored(answer: Answered | None) -> tuple[int | None, str, float | None]:
    """The columns of an answer."""
    return (None, Answer.OPEN.value, None) if answer is None else (answer.run, answer.answer.value, answer.actual)


def _given(row: Prediction) -> Given:
    derived = {"quantity": Quantity(row.quantity), "hardware": hardware_of(row.cluster, row.partition)}
    columns = {name: getattr(row, name) for each in fields(Given) if (name := each.name) not in derived}
    return Given(**columns | derived)


def _ended(run: PastRun, times: RunTimes | None) -> EndedRun | None:
    """A run that can answer; None where nobody knows when it was submitted, for trials, and before its judgement."""
    if times is None or times.known_submission is None or run.is_trial or not run.is_judged or not run.gpus:
        return None
    values = {quantity: value for quantity in Quantity if (value := value_of(run, quantity)) is not None}
    if times.wait_s is not None:
        values[Quantity.WAIT_S] = times.wait_s
    return EndedRun(
        pk=run.pk,
        submitted_at=times.known_submission,
        partition=run.partition,
        hardware=hardware_of(run.cluster, run.partition),
        nodes=run.nodes or 1,
        gpus=run.gpus,
        limit_s=run.walltime_s,
        is_true=is_true(run),
        is_system=run.state in SYSTEM_FAILURES,
        values=values,
    )


def keep_records(now: datetime) -> int:
    """Store how every method keeps its promise and how wide its ranges must be, by what was answered lately.

    Returns how many miss their promise.
    """
    before = {(row.method, row.quantity): row.misses_since for row in MethodRecord.objects.filter(misses_promise=True)}
    rows = []
    for (method, quantity), checked in by_kind(checked_since(now - CALIBRATED)).items():
        found = kept(checked)
        record, misses, factors = found.record, found.misses_promise, found.factors
        rows.append(
            MethodRecord(
                method=method,
                quantity=quantity,
                answered=found.answers,
                ranged=record.ranged,
                inside=record.inside,
                promised_fraction=record.promised_fraction,
                low_factor=None if factors is None else factors.low,
                high_factor=None if factors is None else factors.high,
                misses_promise=misses,
                misses_since=before.get((method, quantity), now) if misses else None,
                made_at=now,
            )
        )
    with transaction.atomic():
        MethodRecord.objects.all().delete()
        MethodRecord.objects.bulk_create(rows)
    return sum(row.misses_promise for row in rows)


PREDICTIONS = MonthKind(
    code="predictions",
    title="predictions",
    after=SETTLED_AFTER,
    having=months_with_checks,
    figures=lambda month, now: month_figures(checked_between(month, next_month(month))),
)
"""How good the predictions were that were answered in a month."""


def remove_predictions(before: datetime) -> Iterator[int]:
    """Delete the predictions that were given before then."""
    yield from remove_rows(Prediction.objects.filter(given_at__lt=before))
