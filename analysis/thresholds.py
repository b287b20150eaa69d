"""Every threshold the analysis judges by, in one frozen value with its sources.

`RULES_VERSION` is stored with each answer; raise it with any change here or in a rule.
"""

from __future__ import annotations

from dataclasses import dataclass

RULES_VERSION = "2026.11.2"


@dataclass(frozen=True)
class Limits:
    """Percent are busy percent of a GPU, fractions 0..1.

    Source of the classes, findings and right-sizing numbers unless a line says otherwise: Kaiku's domain
    definitions, sections 2 to 5 (2026-11).
    """

    efficient_percent: float = 70.0
    acceptable_percent: float = 40.0
    inefficient_percent: float = 15.0
    partial_coverage_fraction: float = 0.8
    short_job_s: float = 300.0
    consistency_fraction: float = 0.10

    idle_util_percent: float = 1.0
    active_gpu_percent: float = 30.0
    low_use_percent: float = 40.0
    low_memory_fraction: float = 0.25
    # The complement of "load imbalance": (max - min) >= 30 points and coefficient of variation >= 0.25.
    uneven_points: float = 30.0
    uneven_variation: float = 0.25
    idle_gpu_fraction: float = 0.95
    active_share_max: float = 0.5
    busy_host_fraction: float = 0.75
    pinned_cores_per_rank_min: float = 0.85
    pinned_cores_per_rank_max: float = 1.15
    stall_drop_points: float = 20.0
    stall_drop_fraction: float = 0.5
    stall_buckets_min: int = 6
    # Sustained enough to say that I/O and not synchronisation held the job: a tenth of the time.
    io_wait_fraction: float = 0.10
    # A host that is mostly idle while its GPUs wait is waiting for another node, not for work of its own.
    idle_host_fraction: float = 0.5

    walltime_used_fraction: float = 0.60
    walltime_run_s: float = 900.0

    sustained_run_fraction: float = 0.5
    memory_fill_fraction: float = 0.9
    target_percent: float = 70.0
    headroom_factor: float = 1.2
    walltime_step_s: float = 900.0


LIMITS = Limits()
