"""What a site states about the CO2e and the money of its energy and GPU-hours; without a statement nothing is shown.

A factor applies from the first day of a month until the next one of its kind: what is shown of the whole site is
computed for whole months.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Literal, TypeVar

from msgspec import Meta

KWH, GPU_HOUR = "kWh", "GPU-hour"

Source = Annotated[str, Meta(min_length=1, max_length=300)]


@dataclass(frozen=True)
class Emission:
    """Grams of CO2 equivalents for each kWh, 0 where the site states none; `source` is shown beside each figure."""

    since: date
    grams_per_kwh: Annotated[float, Meta(ge=0, le=10_000)]
    source: Source


@dataclass(frozen=True)
class Cost:
    """What one kWh or one GPU-hour as billed costs; `currency` is an ISO 4217 code."""

    since: date
    per: Literal["kWh", "GPU-hour"]
    amount: Annotated[float, Meta(gt=0, le=10**7)]
    currency: Annotated[str, Meta(pattern=r"\A[A-Z]{3}\Z")]
    source: Source


F = TypeVar("F", Emission, Cost)


def valid_on(factors: Sequence[F], day: date) -> F | None:
    """The factor that applies on a day; None before the first one.

    >>> mine = [Emission(date(2026, 1, 1), 90.0, "a"), Emission(date(2026, 7, 1), 80.0, "b")]
    >>> [factor and factor.source for factor in (valid_on(mine, date(2026, month, 1)) for month in (6, 7))]
    ['a', 'b']
    >>> valid_on(mine, date(2025, 12, 1)) is None
    True
    """
    return max((factor for factor in factors if factor.since <= day), key=lambda factor: factor.since, default=None)
