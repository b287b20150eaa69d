"""CO2e and money of a period: what the site's factors make of its energy and GPU-hours."""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal

from jobs.site_factors import GPU_HOUR, KWH, Cost, Emission, F, valid_on

GRAMS_PER_KG = 1000
HOURS_WITH_TWO_DIGITS = 10.0


@dataclass(frozen=True)
class Claim:
    """An amount in `unit`, and the factors from which it follows, with their sources."""

    name: str
    amount: float
    unit: str
    factors: tuple[str, ...]


def claims(
    energy_kwh: Mapping[date, float], gpu_hours: Mapping[date, float], site: tuple[Sequence[Emission], Sequence[Cost]]
) -> tuple[Claim, ...]:
    """What follows from the energy and the billed GPU-hours of months, by their first days; nothing without factors.

    A month with an amount but without a factor would make a sum too low: then nothing is stated.

    >>> factor = Emission(date(2026, 1, 1), 90.0, "made up")
    >>> (claim,) = claims({date(2026, 1, 1): 100.0, date(2026, 2, 1): 50.0}, {}, ([factor], []))
    >>> claim.amount, claim.unit, claim.factors
    (13.5, 'kg', ('90 g CO₂e per kWh since January 2026: made up',))
    """
    emissions, costs = site
    by_kwh, by_hour = ([each for each in costs if each.per == per] for per in (KWH, GPU_HOUR))
    found = (
        _emission(_by_factor(energy_kwh, emissions, shown_kwh)),
        _cost("Cost of the energy", _by_factor(energy_kwh, by_kwh, shown_kwh)),
        _cost("Cost of the GPU-hours", _by_factor(gpu_hours, by_hour, shown_hours)),
    )
    return tuple(claim for claim in found if claim)


def shown_kwh(amount: float) -> float:
    """With the digits that are shown: what follows from it follows from what is shown."""
    return round(amount, 2)


def shown_hours(amount: float) -> float:
    """The same of GPU-hours, as `reports.numbers.hours` has them."""
    return round(amount, 2 if amount < HOURS_WITH_TWO_DIGITS else 1)


def _by_factor(
    amounts: Mapping[date, float], factors: Sequence[F], shown: Callable[[float], float]
) -> list[tuple[F, Decimal]]:
    """Each factor with the amount it applies to; nothing where one is missing. Exact for the digits that are shown."""
    sums: dict[F, float] = defaultdict(float)
    for month, amount in amounts.items():
        if amount and (factor := valid_on(factors, month)) is None:
            return []
        if amount and factor:
            sums[factor] += amount
    return [(factor, Decimal(repr(shown(amount)))) for factor, amount in sums.items()]


def _emission(parts: Sequence[tuple[Emission, Decimal]]) -> Claim | None:
    if not parts:
        return None
    grams = sum(amount * Decimal(repr(factor.grams_per_kwh)) for factor, amount in parts)
    names = (f"{each.grams_per_kwh:,.10g} g CO₂e per kWh {_since(each)}" for each, _ in parts)
    return Claim("CO₂e of the energy", float(grams / GRAMS_PER_KG), "kg", tuple(names))


def _cost(name: str, parts: Sequence[tuple[Cost, Decimal]]) -> Claim | None:
    currencies = {factor.currency for factor, _ in parts}
    if len(currencies) != 1:
        return None
    total = sum(amount * Decimal(repr(factor.amount)) for factor, amount in parts)
    names = (f"{each.amount:,.10g} {each.currency} per {each.per} {_since(each)}" for each, _ in parts)
    return Claim(name, float(total), currencies.pop(), tuple(names))


def _since(factor: Emission | Cost) -> str:
    return f"since {factor.since:%B %Y}: {factor.source}"
