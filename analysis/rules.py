"""Root causes: one pure function each; several may hold for one job.

A finding that rests on measurements loses confidence with missing coverage; one that rests on Slurm's record alone
(`timeout`, `walltime_overrequest`, an out-of-memory state), or on hosts that were all measured
(`cores_or_memory_beyond_share`), does not.
"""

import math
from collections.abc import Callable, Mapping, Sequence

from analysis.causes.memory import gpu_memory_pressure, gpu_out_of_memory, host_out_of_memory
from analysis.causes.power import busy_but_waiting, kernel_tuning, throttled
from analysis.causes.progress import loss_is_nan, step_pauses
from analysis.causes.request import cores_or_memory_beyond_share, timeout, walltime_overrequest
from analysis.causes.spread import (
    exclusive_node_underused,
    idle_gpus,
    load_imbalance,
    no_gpu_use,
    overscaling,
    parallelism_mismatch,
)
from analysis.causes.stalls import io_or_sync_stall
from analysis.causes.unexplained import low_use_unexplained
from analysis.causes.waiting import cpu_bottleneck, host_oversubscription, idle_tail, late_start
from analysis.comparable import ComparableRun, longest_run_s, own_scaling
from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode
from analysis.gpu_need import compared_run
from analysis.ranking import expected_gain
from analysis.thresholds import LIMITS, Limits

Rule = Callable[[JobFacts, Limits], Finding | None]

OF_USE: tuple[Rule, ...] = (
    no_gpu_use,
    parallelism_mismatch,
    idle_gpus,
    exclusive_node_underused,
    load_imbalance,
    overscaling,
    cpu_bottleneck,
    host_oversubscription,
    io_or_sync_stall,
    late_start,
    idle_tail,
    busy_but_waiting,
    loss_is_nan,
    step_pauses,
    kernel_tuning,
    gpu_memory_pressure,
    cores_or_memory_beyond_share,
)
"""How the run used its allocation: not judged where the run was too short or ended early."""

OF_THE_SYSTEM: tuple[Rule, ...] = (throttled,)
"""What the machine did: the only findings of a run that the system ended."""

OF_THE_END: tuple[Rule, ...] = (gpu_out_of_memory, host_out_of_memory, timeout, walltime_overrequest)
"""How the run ended, however short it was."""

EXPLAINED_BY: Mapping[FindingCode, frozenset[FindingCode]] = {
    FindingCode.OVERSCALING: frozenset(
        {FindingCode.CPU_BOTTLENECK, FindingCode.HOST_OVERSUBSCRIPTION, FindingCode.IO_OR_SYNC_STALL}
    ),
    FindingCode.IO_OR_SYNC_STALL: frozenset({FindingCode.STEP_PAUSES}),
    FindingCode.KERNEL_TUNING: frozenset(
        {
            FindingCode.CPU_BOTTLENECK,
            FindingCode.HOST_OVERSUBSCRIPTION,
            FindingCode.IO_OR_SYNC_STALL,
            FindingCode.PARALLELISM_MISMATCH,
            FindingCode.LOAD_IMBALANCE,
        }
    ),
}
"""Causes that are inferred by exclusion: they are left out where another cause explains them."""

NOT_OF_USE = frozenset(
    {
        FindingCode.WALLTIME_OVERREQUEST,
        FindingCode.CORES_OR_MEMORY_BEYOND_SHARE,
        FindingCode.GPU_MEMORY_PRESSURE,
        FindingCode.TIMEOUT,
    }
)
"""Findings that leave open why the GPUs were little used, or why the program failed."""


CONFIDENCE_MIN = 0.2
"""Inferences from a smaller part of a run are not reported."""


def findings(facts: JobFacts, limits: Limits = LIMITS, past: Sequence[ComparableRun] = ()) -> tuple[Finding, ...]:
    """All findings, first what fixing would save most; equal ones by confidence, then in the order of rules.

    A run that the system ended does not show how it would have continued. Findings without any measured second, in a
    run of no known length, are left out, and so are those that the user's own runs (`past`) contradict.
    """
    rules = OF_THE_SYSTEM
    if not facts.record.is_system_failure:
        rules += OF_THE_END + (OF_USE if facts.is_use_judged else ())
    denied = _denied_by_own_runs(facts, limits, past)
    raised = [finding for finding in _raised(rules, facts, limits) if finding.code not in denied]
    codes = {finding.code for finding in raised}
    held = [finding for finding in raised if not codes & EXPLAINED_BY.get(finding.code, frozenset())]
    if not facts.record.is_system_failure and not codes - NOT_OF_USE:
        held += _raised((low_use_unexplained,), facts, limits)
    return tuple(sorted(held, key=lambda finding: (-expected_gain(finding, limits), -finding.confidence)))


def _raised(rules: tuple[Rule, ...], facts: JobFacts, limits: Limits) -> list[Finding]:
    return [finding for rule in rules if (finding := rule(facts, limits)) is not None and _is_said(finding)]


def _is_said(finding: Finding) -> bool:
    """Whether enough of the run was measured: a fact needs a second, an inference a minimum coverage.

    A finding without a cause claims nothing that could be wrong.
    """
    claims_nothing = finding.is_fact or finding.code is FindingCode.LOW_USE_UNEXPLAINED
    return finding.confidence > 0 if claims_nothing else finding.confidence >= CONFIDENCE_MIN


def _denied_by_own_runs(facts: JobFacts, limits: Limits, past: Sequence[ComparableRun]) -> frozenset[FindingCode]:
    """Findings that the user's own runs of the same work contradict: a time limit that another of them needed, and too
    many GPUs where the work still gained from as many."""
    denied = set()
    requested_s = facts.record.walltime_requested_s or math.inf
    longest_s = longest_run_s(facts.elapsed_s, facts.allocated_gpus, past)
    if longest_s >= limits.walltime_used_fraction * requested_s:
        denied.add(FindingCode.WALLTIME_OVERREQUEST)
    scaling = own_scaling(compared_run(facts), past, limits)
    if scaling is not None and scaling.gpus >= facts.allocated_gpus:
        denied.add(FindingCode.OVERSCALING)
    return frozenset(denied)
