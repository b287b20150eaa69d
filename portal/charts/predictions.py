"""Predictions on pages: sentences for the next run of a work, and tables of how good earlier ones were."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime

from analysis.predictions.calibration import Checked, MethodFigures, by_kind, promised_percent, record_of
from analysis.predictions.expected import HOUR_S, Known, expected, request_of
from analysis.predictions.quantities import Method, Quantity
from analysis.works.best_request import RUNS_MAX
from analysis.works.runs import PastRun
from reports.prediction_texts import METHODS, QUANTITIES, expected_texts
from wire.numbers import percent

ORDER = [each.value for each in Quantity]
WITHHELD = "withheld: fewer than 5 people, or one of them with more than 85 %"


@dataclass(frozen=True)
class PredictionRow:
    """One quantity by one method, in words; `month` is empty for one work, `withheld` says why nothing is shown."""

    quantity: str
    method: str
    answered: int
    error: str = ""
    within_20: str = ""
    within_15: str = ""
    held: str = ""
    promised: str = ""
    month: str = ""
    withheld: str = ""


def next_run_texts(runs: Sequence[PastRun], known: Known, now: datetime) -> list[str]:
    """What is expected of the next run of a work, requested as the latest judged one; empty from too few runs.

    A run that is said to end later answers no prediction yet, so it makes none either.
    """
    ended = [run for run in runs if run.ended_at <= now]
    latest = next((run for run in ended if run.is_judged and run.gpus and not run.is_trial), None)
    if latest is None:
        return []
    per_hour = HOUR_S * latest.gpu_hours / latest.elapsed_s if latest.gpu_hours and latest.elapsed_s else None
    return expected_texts(expected(ended[:RUNS_MAX], request_of(latest), per_hour, known))


def work_rows(checked: Iterable[Checked]) -> list[PredictionRow]:
    """How good the predictions of one work were."""
    kinds = sorted(by_kind(checked).items(), key=lambda item: (ORDER.index(item[0][1]), item[0][0]))
    return [_work_row(*kind, rows) for kind, rows in kinds]


def _work_row(method: str, quantity: str, checked: Sequence[Checked]) -> PredictionRow:
    found = record_of(checked)
    exceeded = found.answered - found.exact
    return PredictionRow(
        quantity=QUANTITIES[Quantity(quantity)],
        method=METHODS[Method(method)],
        answered=found.answered,
        error=percent(found.median_error_percent) + (f", {exceeded} ended beyond the range" if exceeded else ""),
        within_20=f"{found.within_20} of {found.exact}",
        within_15=f"{found.within_15} of {found.exact}",
        held=f"{found.inside} of {found.ranged}" if found.ranged else "no range",
        promised="" if found.promised_fraction is None else f"{promised_percent(found.promised_fraction)}\u00a0%",
    )


def month_rows(months: Iterable[tuple[date, Sequence[MethodFigures]]]) -> list[PredictionRow]:
    """The closed months of the site, the latest first."""
    return [
        _month_row(first_day, each)
        for first_day, figures in sorted(months, reverse=True, key=lambda month: month[0])
        for each in sorted(figures, key=lambda row: (ORDER.index(row.quantity), row.method))
    ]


def _month_row(first_day: date, row: MethodFigures) -> PredictionRow:
    shown = PredictionRow(
        quantity=QUANTITIES[Quantity(row.quantity)],
        method=METHODS[Method(row.method)],
        answered=row.answered,
        month=f"{first_day:%B %Y}",
        withheld=WITHHELD if row.is_withheld else "",
    )
    if row.is_withheld:
        return shown
    return replace(
        shown,
        error="–" if row.median_error_percent is None else f"{row.median_error_percent}\u00a0%",
        within_20=_part(row.within_20, row.exact),
        within_15=_part(row.within_15, row.exact),
        held=_part(row.inside, row.ranged) if row.ranged else "no range",
        promised="" if row.promised_percent is None else f"{row.promised_percent}\u00a0%",
    )


def _part(part: int, whole: int) -> str:
    return f"{round(100 * part / whole)}\u00a0%" if whole else "–"
