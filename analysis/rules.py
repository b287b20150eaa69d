"""Root causes: one pure function each, all in `RULES`; several may hold for one job.

A finding that rests on measurements loses confidence with missing coverage; one that rests on Slurm's record alone
(`timeout`, `walltime_overrequest`, an out-of-memory state), or on hosts that were all measured
(`cores_or_memory_beyond_share`), does not.
"""

from __future__ import annotations

from collections.abc import Callable

from analysis.causes.memory import gpu_memory_pressure, gpu_out_of_memory, host_out_of_memory
from analysis.causes.power import busy_but_waiting, kernel_tuning, throttled
from analysis.causes.request import cores_or_memory_beyond_share, timeout, walltime_overrequest
from analysis.causes.spread import (
    exclusive_node_underused,
    idle_gpus,
    load_imbalance,
    no_gpu_use,
    overscaling,
    parallelism_mismatch,
)
from analysis.causes.waiting import cpu_bottleneck, host_oversubscription, idle_tail, io_or_sync_stall, late_start
from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode
from analysis.ranking import expected_gain
from analysis.thresholds import LIMITS, Limits

Rule = Callable[[JobFacts, Limits], Finding | None]

RULES: tuple[Rule, ...] = (
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
    kernel_tuning,
    throttled,
    gpu_memory_pressure,
    gpu_out_of_memory,
    host_out_of_memory,
    cores_or_memory_beyond_share,
    timeout,
    walltime_overrequest,
)

OF_THE_SYSTEM = frozenset({FindingCode.THROTTLED})
"""What holds against the machine and nobody else: all that is said of a run that the system ended."""


def findings(facts: JobFacts, limits: Limits = LIMITS) -> tuple[Finding, ...]:
    """Everything that holds, first what fixing would save most; equal ones surest first, then in the order of `RULES`.

    A run that the system ended tells nothing about how it would have gone on: nothing in it is held against anyone.
    What no measured second supports, in a run of no known length, is not said at all.
    """
    raised = [finding for rule in RULES if (finding := rule(facts, limits)) is not None]
    held = [finding for finding in raised if finding.confidence > 0]
    if facts.record.is_system_failure:
        held = [finding for finding in held if finding.code in OF_THE_SYSTEM]
    return tuple(sorted(held, key=lambda finding: (-expected_gain(finding, limits), -finding.confidence)))
