"""All cases of the noisy library, gathered from their modules; no two have the same name."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from bench.noisy import endings, learning, requests, simulation
from bench.noisy.case import Case

AREAS: dict[str, tuple[Case, ...]] = {
    "endings": endings.CASES,
    "learning": learning.CASES,
    "requests": requests.CASES,
    "simulation": simulation.CASES,
}


def _named_apart(areas: dict[str, tuple[Case, ...]]) -> tuple[Case, ...]:
    """All cases; where areas chose the same name, each has its area before it."""
    uses = Counter(case.name for cases in areas.values() for case in cases)
    return tuple(
        case if uses[case.name] == 1 else replace(case, name=f"{area}_{case.name}")
        for area, cases in areas.items()
        for case in cases
    )


LIBRARY: tuple[Case, ...] = _named_apart(AREAS)
