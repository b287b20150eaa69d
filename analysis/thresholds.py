"""Every threshold of the analysis, in one frozen value with its sources.

`RULES_VERSION` is stored with each judgement; raise it with any change here or in a rule.
"""

from dataclasses import dataclass

from wire.classes import FROM_PERCENT

RULES_VERSION = "2026.11.7"


@dataclass(frozen=True)
class Limits:
    """Percent are busy percent of a GPU, fractions 0..1.

    Source of the classes, findings and right-sizing numbers unless a line says otherwise: Kaiku's domain
    definitions, sections 2 to 5 (2026-11).
    """

    efficient_percent: float = FROM_PERCENT["EFFICIENT"]
    acceptable_percent: float = FROM_PERCENT["ACCEPTABLE"]
    inefficient_percent: float = FROM_PERCENT["INEFFICIENT"]
    partial_coverage_fraction: float = 0.8
    consistency_fraction: float = 0.10

    # Bounds of what is judged: shorter runs, and runs that ended early by themselves or by hand, do not show how GPUs
    # are used.
    short_job_s: float = 300.0
    early_end_s: float = 600.0
    # Of the run time of trials (`kaiku trial`): 10 minutes on one GPU are 75 s on eight at best.
    trial_min_s: float = 60.0

    idle_util_percent: float = 1.0
    idle_gpu_fraction: float = 0.95
    # A GPU that worked for longer than this at any time was not idle, however long the run was.
    worked_s: float = 120.0
    active_gpu_percent: float = 30.0
    # Beside working GPUs: single readings and an opened context, but no process that computes.
    nearly_idle_percent: float = 5.0
    active_share_max: float = 0.5
    active_node_share_max: float = 0.5

    low_use_percent: float = 40.0
    low_memory_fraction: float = 0.25
    # With so little memory and a mostly idle host, even use up to Efficient would fit on fewer GPUs.
    very_low_memory_fraction: float = 0.10
    quiet_host_fraction: float = 0.5

    uneven_points: float = 30.0
    uneven_variation: float = 0.25
    # One GPU that does at most this share of what the middle one does is far below the others.
    far_below_fraction: float = 0.65
    # GPUs take turns where no more than this share of those that worked ever works at the same time.
    in_turns_fraction: float = 0.5
    in_turns_share: float = 0.8

    busy_host_fraction: float = 0.75
    pinned_cores_per_rank_min: float = 0.85
    pinned_cores_per_rank_max: float = 1.15
    # Pressure-stall "some": the share of the time in which at least one task waited (Linux, accounting/psi.rst).
    cpu_pressure_fraction: float = 0.10

    stall_drop_points: float = 20.0
    stall_drop_fraction: float = 0.5
    span_buckets_min: int = 6
    # Sustained enough to name I/O and not synchronisation as the cause: a tenth of the time.
    io_wait_fraction: float = 0.10
    # Waiting for files that long slows the GPUs down, however their use changes over time.
    io_bound_fraction: float = 0.20
    # A host that is mostly idle while its GPUs wait is waiting for another node, not for work of its own.
    idle_host_fraction: float = 0.5
    # Repeated stalls count from this share of the active span.
    stalled_fraction: float = 0.15
    # A different phase of a program uses a different amount of GPU memory.
    phase_memory_fraction: float = 0.15

    edge_idle_fraction: float = 0.20
    edge_idle_s: float = 600.0
    # Busy and waiting within a run: omnistat-inspect's thresholds of an iteration (ROCm/omnistat e93110f).
    burst_rest_percent: float = 20.0
    burst_busy_percent: float = 70.0
    bursts_min: int = 3
    # 90 % of a steady span are within 20 % of the scale.
    steady_range_points: float = 20.0

    spinning_busy_percent: float = 70.0
    spinning_power_fraction: float = 0.40
    # Kernels that work all the time draw more than those that work most of it: the bound at 100 percent busy. Of the
    # runs of the noisy library whose kernels work none draws less than 0.59, of those that spin none more than 0.42.
    spinning_power_fraction_full: float = 0.46
    # Progress that stopped for good: longer than an evaluation or an epoch may take without a point, by what the run
    # itself logged before (82 situations of training runs, `tests/analysis/progress/cases.py`).
    flat_s: float = 900.0
    flat_gaps: float = 3.0
    flat_measured_fraction: float = 0.5
    # Of the whole run, with what it computed before. No run of the noisy library whose kernels work draws less than
    # 0.59.
    flat_power_fraction: float = 0.55
    progress_points_min: int = 3
    # A loss that is no number: for so long that it cost something, and three times as long as ever before, because rows
    # are filled with NaN where nothing was computed.
    nan_s: float = 600.0
    nan_points_min: int = 2
    nan_before: float = 3.0
    # Pauses between steps: three times as long as their steps take, or a stretch that is slow alone, because of many
    # points few are kept. Use in them is below 60 percent of what it is.
    pause_factor: float = 3.0
    pause_s: float = 10.0
    slow_factor: float = 1.5
    slow_in_a_row: int = 3
    pauses_min: int = 2
    pauses_fraction: float = 0.05
    pauses_buckets_min: int = 12
    pauses_seen_fraction: float = 0.2
    pauses_fit: float = 0.6
    pauses_dip_fraction: float = 0.4
    tuning_busy_percent_min: float = 40.0
    tuning_busy_percent_max: float = 85.0
    tuning_power_fraction_min: float = 0.40
    tuning_power_fraction_max: float = 0.65
    # Above Efficient only clearly low power is room: memory-bound kernels draw about 0.6 (noisy library).
    tuning_power_fraction_busy: float = 0.45
    # "Ample room": half of the cores and 20 % of the GPU memory free, and at most 20 % idle time.
    tuning_host_fraction_max: float = 0.50
    tuning_memory_fraction_max: float = 0.80
    tuning_idle_fraction_max: float = 0.20
    throttled_fraction: float = 0.05

    memory_pressure_fraction: float = 0.95

    walltime_used_fraction: float = 0.60
    walltime_run_s: float = 900.0

    sustained_run_fraction: float = 0.5
    memory_fill_fraction: float = 0.9
    target_percent: float = 70.0
    # No size is suggested from less than half of a run: the rest may have been the work.
    resize_time_fraction: float = 0.5
    headroom_factor: float = 1.2
    # Ranks that keep at least half a core busy count as working; waiting ranks of a launcher do not.
    busy_rank_cores: float = 0.5
    walltime_step_s: float = 900.0
    # After a limit or a memory that was too small: how much more is tried where nothing shows what is needed.
    more_factor: float = 1.5


LIMITS = Limits()
