"""What advice of one month saved compared with its claims, of what is stored of that month."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from analysis.outcomes.quality import RuleFigures
from jobs.site_factors import GPU_HOUR
from portal.charts.advice_outcomes import BASES, KINDS
from portal.charts.site_claims import Claim, cost, number
from reports.numbers import share, unbroken


@dataclass(frozen=True)
class Savings:
    """The sums of the rules that may be shown, with these rules, and how many may not.

    `rows` are (kind, rule, claimed, saved, share), the most saved first.
    """

    claimed: str
    saved: str
    fraction: str
    money: Claim | None
    rows: tuple[tuple[str, str, str, str, str], ...]
    withheld: int


def savings(figures: Sequence[RuleFigures], month: date) -> Savings:
    """Claimed against realised GPU-hours, added up from the rounded hours of each rule."""
    shown = [row for row in figures if row.claimed_gpu_hours is not None and row.realised_gpu_hours is not None]
    shown.sort(key=lambda row: (-(row.realised_gpu_hours or 0.0), row.kind, row.basis))
    claimed = round(sum(row.claimed_gpu_hours or 0.0 for row in shown), 9)
    saved = round(sum(row.realised_gpu_hours or 0.0 for row in shown), 9)
    rows = tuple(
        (
            KINDS.get(row.kind, row.kind),
            BASES.get(row.basis, row.basis),
            *_pair(row.claimed_gpu_hours or 0.0, row.realised_gpu_hours or 0.0),
        )
        for row in shown
    )
    return Savings(*_pair(claimed, saved), cost(saved, GPU_HOUR, month), rows, len(figures) - len(shown))


def _pair(claimed: float, saved: float) -> tuple[str, str, str]:
    fraction = unbroken(share(saved / claimed)) if claimed else "–"
    return number(claimed), number(saved), fraction
