"""Reading predictions; whose they are the caller has decided."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime

from analysis.predictions.models import Prediction

VALUE_COLUMNS = (
    *("source", "quantity", "method", "method_version", "partition", "nodes", "gpus"),
    *("low", "typical", "high", "promised_fraction", "runs", "is_shown", "given_at", "answer", "actual", "answered_at"),
)


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
    is_shown: bool
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


def predictions_of(job_pks: Collection[int]) -> Mapping[int, list[PredictionValue]]:
    """What had been predicted for each of these runs, of those that answer a prediction: one query.

    A person sees what was stated: rows with `is_shown`. The others are of the method that was not chosen.
    """
    rows = Prediction.objects.filter(job__in=job_pks).order_by("job", "source", "quantity", "method")
    found: dict[int, list[PredictionValue]] = {}
    for pk, *values in rows.values_list("job_id", *VALUE_COLUMNS):
        found.setdefault(pk, []).append(PredictionValue(*values))
    return found
