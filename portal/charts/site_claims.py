"""CO2e and money of what is shown of the site: products of shown figures and the factors that the site states.

And why a sum over people is withheld, in words.
"""

from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

from analysis.feedback import GROUP_USERS_MIN
from analysis.site.figures import MonthFigures
from analysis.site.suppression import Withheld
from jobs.hardware import site
from jobs.site_factors import GPU_HOUR, KWH, valid_on

GRAMS_PER_KG = 1000
CENT = Decimal("0.01")

WITHHELD_WORDS = {
    Withheld.FEW_PEOPLE.value: f"withheld: fewer than {GROUP_USERS_MIN} people",
    Withheld.ONE_PERSON.value: "withheld: one person has more than 85\u00a0%",
    Withheld.PEOPLE_TOGETHER.value: "withheld: three people have nearly all of it",
    Withheld.OTHER_GROUP.value: "withheld: it would reveal a withheld group",
}


@dataclass(frozen=True)
class Claim:
    """A figure, and the factor by which it follows from a shown one, with its source."""

    figure: str
    factor: str


def emission(energy_kwh: float | None, month: date) -> Claim | None:
    """The CO2e of this energy, as it is shown; None where the energy or the factor is unknown."""
    factor = valid_on(site().emissions, month)
    if energy_kwh is None or factor is None:
        return None
    grams = _product(energy_kwh, factor.grams_per_kwh)
    figure = f"{plain(grams / GRAMS_PER_KG)}\u00a0kg" if grams >= GRAMS_PER_KG else f"{plain(grams)}\u00a0g"
    return Claim(figure, f"{factor.grams_per_kwh:,.10g}\u00a0g CO₂e per kWh {_since(factor.since)}: {factor.source}")


def cost(amount: float | None, per: str, month: date) -> Claim | None:
    """What these kWh or GPU-hours cost, as they are shown; None where they or the price are unknown."""
    price = valid_on([each for each in site().costs if each.per == per], month)
    if amount is None or price is None:
        return None
    figure = f"{plain(_product(amount, price.amount))}\u00a0{price.currency}"
    return Claim(figure, f"{price.amount:,.10g}\u00a0{price.currency} per {per} {_since(price.since)}: {price.source}")


def claims(figures: MonthFigures, month: date) -> list[tuple[str, Claim]]:
    """What follows from the energy and the GPU-hours of a month, with a name for each."""
    total = figures.total
    found = (
        ("CO₂e of the energy", emission(figures.energy_kwh, month)),
        ("Cost of the energy", cost(figures.energy_kwh, KWH, month)),
        ("Cost of the allocated GPU-hours", cost(total.allocated, GPU_HOUR, month)),
        ("Cost of the unused GPU-hours", cost(total.unused, GPU_HOUR, month)),
    )
    return [(name, claim) for name, claim in found if claim]


def number(value: float | None) -> str:
    """Rounded GPU-hours or kWh.

    >>> number(12350.0), number(0.15)
    ('12,350', '0.15')
    """
    return "" if value is None else f"{value:,.10g}"


def plain(value: Decimal) -> str:
    """A number with two decimals, or none if it is whole.

    >>> plain(Decimal("1234.5")), plain(Decimal("7.000")), plain(Decimal("0.125"))
    ('1,234.50', '7', '0.13')
    """
    rounded = value.quantize(CENT, ROUND_HALF_UP)
    return f"{rounded:,.0f}" if rounded == rounded.to_integral_value() else f"{rounded:,}"


def _product(shown: float, factor: float) -> Decimal:
    """Exact for the digits that people see: whoever multiplies them gets the same."""
    return Decimal(repr(shown)) * Decimal(repr(factor))


def _since(day: date) -> str:
    return f"since {day:%B %Y}"
