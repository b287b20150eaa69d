"""All cases of the noisy library, gathered from their modules by area; no two have the same name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from bench.noisy import endings, examiner, inspector, learning, requests, simulation
from bench.noisy.case import Case

Areas = Mapping[str, tuple[Case, ...]]


def named_apart(areas: Areas) -> Areas:
    """The same areas; where several chose the same name for a case, each has its area before it."""
    uses = Counter(case.name for cases in areas.values() for case in cases)
    return {
        area: tuple(case if uses[case.name] == 1 else replace(case, name=f"{area}_{case.name}") for case in cases)
        for area, cases in areas.items()
    }


AREAS: Areas = named_apart(
    {
        "endings": endings.CASES,
        "examiner": examiner.CASES,
        "inspector": inspector.CASES,
        "learning": learning.CASES,
        "requests": requests.CASES,
        "simulation": simulation.CASES,
    }
)
LIBRARY: tuple[Case, ...] = tuple(case for cases in AREAS.values() for case in cases)
