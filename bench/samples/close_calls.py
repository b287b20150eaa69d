"""Runs close to the thresholds, on both sides, and runs with several causes at once."""

from __future__ import annotations

from analysis.efficiency import EfficiencyClass
from analysis.findings import FindingCode
from bench.samples.archetypes import PER_NODE, Archetype, Expected, Host, found
from bench.samples.shapes import (
    all_but_last,
    alternating,
    between,
    cut_off,
    delayed,
    falling,
    graded,
    hanging,
    some_busy,
    stalling,
    steady,
    training,
)

EFFICIENT = Expected(EfficiencyClass.EFFICIENT)
ACCEPTABLE_UNEXPLAINED = found(EfficiencyClass.ACCEPTABLE, FindingCode.LOW_USE_UNEXPLAINED)
INEFFICIENT_UNEXPLAINED = found(EfficiencyClass.INEFFICIENT, FindingCode.LOW_USE_UNEXPLAINED)

JUST_BEYOND = (
    Archetype(
        "late_by_a_quarter", found(EfficiencyClass.ACCEPTABLE, FindingCode.LATE_START), delayed(0.24, 74, 84), ("a",)
    ),
    Archetype(
        "idle_for_the_last_quarter",
        found(EfficiencyClass.ACCEPTABLE, FindingCode.IDLE_TAIL),
        hanging(0.76, 74, 84),
        ("a",),
    ),
    Archetype("somewhat_uneven", found(EfficiencyClass.ACCEPTABLE, FindingCode.LOAD_IMBALANCE), graded(34, 84), ("a",)),
    Archetype(
        "somewhat_slowed",
        found(EfficiencyClass.EFFICIENT, FindingCode.THROTTLED),
        steady(82, 92),
        ("a",),
        throttled_fraction=(0.05, 0.09),
    ),
    Archetype(
        "falling_by_half",
        found(EfficiencyClass.ACCEPTABLE, FindingCode.IO_OR_SYNC_STALL),
        falling((80, 86), (32, 36)),
        ("a",),
        host=Host(iowait_fraction=(0.02, 0.20), io_pressure_fraction=(0.05, 0.30)),
    ),
    Archetype(
        "host_at_four_fifths",
        found(EfficiencyClass.INEFFICIENT, FindingCode.CPU_BOTTLENECK),
        steady(24, 37),
        ("a",),
        peak_mem_gb=(20.0, 40.0),
        host=Host(busy_fraction=(0.77, 0.84)),
    ),
    Archetype(
        "evenly_a_third",
        found(EfficiencyClass.INEFFICIENT, FindingCode.OVERSCALING),
        steady(32, 37),
        ("a",),
        peak_mem_gb=(8.0, 14.5),
    ),
    # Two GPUs that stop together twenty times, a third of the run in all, while the host is quiet.
    Archetype(
        "bursts_of_a_solver",
        found(EfficiencyClass.ACCEPTABLE, FindingCode.IO_OR_SYNC_STALL),
        alternating(20, 0.62),
        ("a",),
        gpus=2,
    ),
    Archetype(
        "waiting_at_a_third_of_power",
        found(EfficiencyClass.EFFICIENT, FindingCode.BUSY_BUT_WAITING),
        steady(76, 90),
        ("a",),
        full_power_w=(150.0, 190.0),
    ),
    Archetype(
        "two_thirds_of_the_limit_unused",
        found(EfficiencyClass.EFFICIENT, FindingCode.WALLTIME_OVERREQUEST),
        steady(80, 92),
        ("a",),
        used_fraction=(0.30, 0.57),
    ),
)

JUST_WITHIN = (
    Archetype("late_by_a_seventh", EFFICIENT, delayed(0.14, 86, 94), ("b",)),
    Archetype("idle_for_the_last_seventh", EFFICIENT, hanging(0.86, 86, 94), ("b",)),
    Archetype("a_little_uneven", EFFICIENT, graded(62, 92), ("b",)),
    Archetype("hardly_slowed", EFFICIENT, steady(82, 92), ("b",), throttled_fraction=(0.0, 0.06)),
    Archetype("falling_a_little", ACCEPTABLE_UNEXPLAINED, falling((84, 90), (52, 60)), ("b",)),
    Archetype("memory_nine_tenths_full", EFFICIENT, training(85, 94), ("b",), peak_mem_gb=(55.0, 59.5)),
    # A framework that reserves memory ahead: little use, and nothing that says the work would fit on fewer GPUs.
    Archetype(
        "memory_reserved_low_use", INEFFICIENT_UNEXPLAINED, steady(20, 34), ("b",), gpus=4, peak_mem_gb=(46.0, 52.0)
    ),
    # 64 GB beside one GPU is the site's default, not a choice.
    Archetype("default_memory", EFFICIENT, steady(80, 92), ("b",), gpus=1, memory_per_gpu_gb=64.0),
    Archetype("many_threads_that_sleep", EFFICIENT, training(84, 94), ("b",), host=Host(threads_per_core=4.0)),
    Archetype("busy_host_fed_gpus", EFFICIENT, steady(80, 92), ("b",), host=Host(busy_fraction=(0.80, 0.95))),
    Archetype(
        "one_core_per_rank_fed_gpus", EFFICIENT, steady(80, 92), ("b",), host=Host(busy_cores_per_rank=(0.95, 1.05))
    ),
    Archetype("pauses_for_output", EFFICIENT, stalling(5, 0.12, 88, 95), ("b",)),
    Archetype(
        "six_of_ten_hours",
        EFFICIENT,
        steady(80, 92),
        ("b",),
        partition="standard-g",
        nodes=2,
        used_fraction=(0.61, 0.70),
        spellings=(PER_NODE,),
    ),
    Archetype(
        "interactive_notebook",
        ACCEPTABLE_UNEXPLAINED,
        alternating(18, 0.45),
        ("jupyter",),
        gpus=1,
        used_fraction=(0.1, 0.3),
    ),
    Archetype(
        "failed_with_room",
        found(EfficiencyClass.EFFICIENT, FindingCode.LOW_USE_UNEXPLAINED),
        training(85, 94),
        ("b",),
        used_fraction=(0.05, 0.3),
        state="FAILED",
        exit_code="1:0",
        peak_mem_gb=(30.0, 58.0),
    ),
    Archetype(
        "idle_gpu_on_a_failed_node",
        Expected(EfficiencyClass.ACCEPTABLE, uncounted_reason="system_failure"),
        hanging(0.6, 84, 94),
        ("b",),
        state="NODE_FAIL",
        exit_code="1:0",
    ),
)

TOGETHER = (
    Archetype(
        "time_out_with_an_idle_gpu",
        found(EfficiencyClass.EFFICIENT, FindingCode.TIMEOUT, FindingCode.IDLE_GPUS),
        all_but_last(1, 88, 95),
        ("c",),
        used_fraction=(1.0, 1.0),
        state="TIMEOUT",
    ),
    Archetype(
        "late_and_over_soon",
        found(EfficiencyClass.INEFFICIENT, FindingCode.LATE_START, FindingCode.IDLE_TAIL),
        between(0.3, 0.7, 80, 92),
        ("c",),
    ),
    Archetype(
        "half_of_the_gpus_and_a_tail",
        found(
            EfficiencyClass.INEFFICIENT,
            FindingCode.PARALLELISM_MISMATCH,
            FindingCode.IDLE_TAIL,
            FindingCode.IDLE_GPUS,
        ),
        cut_off(0.7, some_busy(4, 84, 94)),
        ("c",),
    ),
    Archetype(
        "overscaled_and_long_limit",
        found(EfficiencyClass.INEFFICIENT, FindingCode.OVERSCALING, FindingCode.WALLTIME_OVERREQUEST),
        steady(18, 26),
        ("c",),
        peak_mem_gb=(3.0, 9.0),
        used_fraction=(0.1, 0.4),
    ),
    Archetype(
        "full_memory_and_throttled",
        found(EfficiencyClass.EFFICIENT, FindingCode.GPU_MEMORY_PRESSURE, FindingCode.THROTTLED),
        training(85, 95),
        ("c",),
        peak_mem_gb=(63.2, 63.9),
        throttled_fraction=(0.1, 0.3),
    ),
    # One of eight GPUs, and the memory of four: the bill counts the GPUs, so the memory raises nothing.
    Archetype(
        "idle_gpus_with_their_memory_unused",
        found(EfficiencyClass.WASTED, FindingCode.PARALLELISM_MISMATCH, FindingCode.IDLE_GPUS),
        some_busy(1, 85, 95),
        ("c",),
        host=Host(memory_fraction=(0.02, 0.08)),
    ),
)

CLOSE_CALLS = JUST_BEYOND + JUST_WITHIN + TOGETHER
