"""The rules of early words: one pure function each, few and sure."""

from __future__ import annotations

from collections.abc import Callable

from analysis.early.facts import EarlyFacts
from analysis.early.findings import EarlyFinding
from analysis.early.thresholds import EARLY_LIMITS, EarlyLimits

RULES: tuple[Callable[[EarlyFacts, EarlyLimits], EarlyFinding | None], ...] = ()


def early_findings(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> tuple[EarlyFinding, ...]:
    """What holds of a running job now, the most important first; empty for nearly every job."""
    found = (rule(facts, limits) for rule in RULES)
    return tuple(finding for finding in found if finding is not None)
