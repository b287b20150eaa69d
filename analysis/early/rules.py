"""The rules of early words: one pure function each, few and sure."""

from collections.abc import Callable

from analysis.early.facts import EarlyFacts
from analysis.early.findings import EarlyCode, EarlyFinding
from analysis.early.idle import all_gpus_idle, cpu_only, some_gpus_unused
from analysis.early.limit import limit_too_short
from analysis.early.memory import gpu_memory_full, host_memory_filling
from analysis.early.spinning import spinning
from analysis.early.thresholds import EARLY_LIMITS, EarlyLimits, lowered

RULES: dict[EarlyCode, Callable[[EarlyFacts, EarlyLimits], EarlyFinding | None]] = {
    EarlyCode.CPU_ONLY: cpu_only,
    EarlyCode.ALL_GPUS_IDLE: all_gpus_idle,
    EarlyCode.SPINNING: spinning,
    EarlyCode.SOME_GPUS_UNUSED: some_gpus_unused,
    EarlyCode.HOST_MEMORY_FILLING: host_memory_filling,
    EarlyCode.GPU_MEMORY_FULL: gpu_memory_full,
    EarlyCode.LIMIT_TOO_SHORT: limit_too_short,
}
"""The most important first."""

IDLE = frozenset({EarlyCode.CPU_ONLY, EarlyCode.ALL_GPUS_IDLE})
"""Two words for one state: they share their thresholds, so that one of them holds and not both or none."""

CONFIDENCE_MIN = 0.9
"""What is less sure is not said: early words interrupt people."""


def early_findings(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> tuple[EarlyFinding, ...]:
    """What holds of a running job now, the most important first; empty for nearly every job.

    Nothing is said of a job that is suspended, or that Slurm no longer calls running.
    """
    if facts.run.record.state != "RUNNING":
        return ()
    found = (rule(facts, _limits_of(code, facts, limits)) for code, rule in RULES.items())
    return tuple(finding for finding in found if finding is not None and _is_said(finding))


def _limits_of(code: EarlyCode, facts: EarlyFacts, limits: EarlyLimits) -> EarlyLimits:
    """Lower thresholds for a word that held at the last look."""
    return limits if facts.held.isdisjoint(IDLE if code in IDLE else {code}) else lowered(limits)


def _is_said(finding: EarlyFinding) -> bool:
    """A fact was counted over what was measured; an inference must be sure."""
    return finding.is_fact or finding.confidence >= CONFIDENCE_MIN
