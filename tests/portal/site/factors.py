"""A site that states factors: LUMI's profile with made-up ones."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import date

from jobs.hardware import site, use_site
from jobs.site_factors import Cost, Emission

EMISSIONS = (Emission(date(2026, 1, 1), 90.0, "Supplier <2025>"), Emission(date(2026, 10, 1), 83.0, "Supplier, 2026"))
COSTS = (
    Cost(date(2026, 1, 1), "kWh", 0.12, "EUR", "Contract"),
    Cost(date(2026, 1, 1), "GPU-hour", 0.35, "EUR", "Price list"),
)


@contextmanager
def stated(emissions: tuple[Emission, ...] = EMISSIONS, costs: tuple[Cost, ...] = COSTS) -> Iterator[None]:
    """During the context the site states these factors."""
    before = site()
    use_site(replace(before, emissions=emissions, costs=costs))
    try:
        yield
    finally:
        use_site(before)
