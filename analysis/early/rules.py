"""The rules of early words: one pure function each, few and sure."""

from __future__ import annotations

from collections.abc import Callable

from analysis.early.facts import EarlyFacts
from analysis.early.findings import EarlyFinding
from analysis.early.idle import all_gpus_idle, cpu_only, some_gpus_unused
from analysis.early.limit import limit_too_short
from analysis.early.memory import gpu_memory_full, host_memory_filling
from analysis.early.spinning import spinning
from analysis.early.thresholds import EARLY_LIMITS, EarlyLimits

RULES: tuple[Callable[[EarlyFacts, EarlyLimits], EarlyFinding | None], ...] = (
    cpu_only,
    all_gpus_idle,
    spinning,
    some_gpus_unused,
    host_memory_filling,
    gpu_memory_full,
    limit_too_short,
)
"""The most important first."""

CONFIDENCE_MIN = 0.9
"""What is less sure is not said: early words interrupt people."""


def early_findings(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> tuple[EarlyFinding, ...]:
    """What holds of a running job now, the most important first; empty for nearly every job.

    Nothing is said of a job that is suspended, or that Slurm no longer calls running.
    """
    if facts.run.record.state != "RUNNING":
        return ()
    found = (rule(facts, limits) for rule in RULES)
    return tuple(finding for finding in found if finding is not None and _is_said(finding))


def _is_said(finding: EarlyFinding) -> bool:
    """A fact was counted over what was measured; an inference must be sure."""
    return finding.is_fact or finding.confidence >= CONFIDENCE_MIN
