"""The thresholds of early words, each with its source."""

from dataclasses import dataclass, replace

EARLY_RULES_VERSION = "early-4"
"""Stored with every word; a change of the rules or of a threshold changes it."""


@dataclass(frozen=True)
class EarlyLimits:
    """The thresholds; seconds, percent and fractions as their names say.

    Those that judge a whole run as well are in `analysis.thresholds`. Source unless a line says otherwise: half an hour
    is the shortest time after which a word is sent, by the definition of early words; everything else is chosen so that
    a usual phase of healthy work is no reason for one.
    """

    # GPUs without work: half an hour after the program has ended, which shows as a quiet host and GPU memory that was
    # given back. An hour where anything is left that could go on: a server, a download, a checkpoint being written.
    idle_quiet_s: float = 1800.0
    idle_s: float = 3600.0
    # Two hours while the host computes, from the start or after work: data are often unpacked, aligned, meshed or
    # analysed there for more than one (noisy library, situations of early words).
    idle_computing_s: float = 7200.0
    # Three where it has computed since the start: tokens, meshes and genomes take two to three (second examination).
    idle_start_computing_s: float = 3 * 3600.0
    # A context alone, or what a driver keeps, is less GPU memory than this.
    released_gb: float = 1.0
    # A person who works in a session is at lunch, in a meeting or reads: half a working day is none of these.
    idle_interactive_s: float = 4 * 3600.0
    # Below half a core on each node nothing but a shell or a server that waits is running.
    quiet_cores: float = 0.5
    # Some of the GPUs: two hours, in the last half hour of which others worked all the time. One GPU often prepares
    # what the others need, and parts of a job start up to an hour and more after the first (second examination).
    unused_s: float = 7200.0
    unused_others_s: float = 1800.0
    # As in `analysis.thresholds`: single readings of one percent come from monitoring.
    idle_util_percent: float = 1.0
    # A stretch with fewer fully busy seconds is a monitoring call or the opening of a device, no work.
    blip_s: float = 10.0
    # A stretch is idle only where nearly all of it was measured; nothing is said of a gap.
    idle_measured_fraction: float = 0.8
    # The idle time of now must be so many times the longest idle time between two stretches of work.
    pause_factor: float = 2.0
    # GPUs work if they are so busy on average over the last half hour.
    working_percent: float = 10.0
    # The host computes: about one core, and a tenth of those of the job.
    busy_cores_min: float = 0.9
    busy_cores_fraction: float = 0.10

    # A node sends each hour, spread over a quarter of an hour by the timer; after that it is not known what it does.
    heard_s: float = 5400.0
    # With less time left than this a word that arrives by mail changes nothing any more.
    left_min_s: float = 1800.0

    # Busy at low power, for most of an hour: checkpoints and output of one rank let the others wait for half of one.
    # A kernel that waits leaves no gap, so that it shows as busy all the time; work in small kernels has gaps, at 92 to
    # 97 percent (situations of early words). Two GPUs that spin draw 110 to 180 W of the 500 W of a module on LUMI.
    spinning_s: float = 3000.0
    spinning_busy_percent: float = 98.0
    # Where power fell by a fifth against the job so far, work ended and waiting began.
    spinning_changed_busy_percent: float = 97.0
    spinning_changed_power: float = 1.25
    spinning_power_fraction: float = 0.36
    spinning_modules_fraction: float = 0.75
    # In nearly all parts of that time the use is near its mean: hiccups are work.
    spinning_part_percent: float = 95.0
    spinning_parts_fraction: float = 0.90
    spinning_parts_min: int = 6
    # Steps that are logged: evaluation and generation between them last three quarters of an hour, at less power. The
    # use and power of `analysis.thresholds` are enough then.
    flat_s: float = 3600.0
    flat_busy_percent: float = 70.0
    flat_power_fraction: float = 0.40

    # Memory: a line through at least twelve points of two hours or more; the first period of a sawtooth, an epoch or
    # the load of a data set are shorter. It is a trend if it explains nearly all of the course, the last third rises as
    # the whole does and each sixth of it at least half as much: a staircase with few steps does not.
    trend_points_min: int = 12
    trend_s: float = 7200.0
    trend_fit: float = 0.95
    trend_last_third_min: float = 0.7
    trend_last_third_max: float = 2.0
    trend_parts: int = 6
    trend_part_min: float = 0.5
    # A staircase: more than so many points lie less than a tenth of an even rise above the one before.
    trend_flat_fraction: float = 0.6
    trend_flat_rise: float = 0.1
    # A fall of more than this share of the rise is memory that is freed again: garbage, epochs, checkpoints.
    trend_fall_fraction: float = 0.15
    # Two-sided 95 percent of a normal distribution; `fit` widens it for few points (Student's t).
    trend_certainty: float = 1.96
    # A line is not continued for longer than it was seen.
    trend_ahead_factor: float = 1.0
    # Data that are kept by design leave room, and are loaded within three and a half hours: before, memory must be
    # nearly full.
    host_memory_fraction_min: float = 0.50
    host_memory_full_fraction: float = 0.90
    trend_long_s: float = 3.5 * 3600.0
    # Memory that fills while no GPU works is data being loaded; work shows as this mean use.
    memory_working_percent: float = 10.0
    # Pools and caches are bounded at 90 or 95 percent (vLLM: 0.90): what grows past both has no such bound.
    gpu_memory_fraction_min: float = 0.95
    # Full from the start is a pool by design: it must have begun below this share of the capacity.
    gpu_memory_first_fraction_max: float = 0.90

    # The time limit: the estimate with its error must exceed it by a tenth, that of earlier runs by a quarter, since
    # these may have had other input; far beyond the limit it was chosen so, by people who continue from checkpoints.
    limit_progress_factor: float = 1.10
    limit_earlier_factor: float = 1.25
    limit_factor_max: float = 2.0
    limit_earlier_runs_min: int = 3
    # Runs that differ by more had different input.
    limit_earlier_spread: float = 1.5
    # Work whose last part was faster than the parts before by more is still speeding up.
    limit_speed_up: float = 1.05
    # Compilation, caches that fill and data read for the first time make the first hour slower.
    limit_progress_s: float = 5400.0
    # Work is up to twice as slow as before on a busy file system; where earlier runs ended sooner than that explains,
    # they ended before the total that is named, as where training stops early.
    limit_slower_max: float = 2.0
    # Who sets a limit below all earlier runs may have less to do this time: half of it must have passed.
    limit_earlier_ran_fraction: float = 0.5
    limit_points_min: int = 12
    limit_blocks: int = 4
    # A counter that begins with so many of its steps done goes on from a checkpoint.
    limit_resumed_fraction: float = 0.02


EARLY_LIMITS = EarlyLimits()


def lowered(limits: EarlyLimits) -> EarlyLimits:
    """The thresholds below which a word that held at the last look is over: an estimate without its margin, half an
    hour without work, and so on. A word that flickers is read as several."""
    return replace(
        limits,
        idle_s=limits.idle_quiet_s,
        idle_computing_s=limits.idle_quiet_s,
        idle_start_computing_s=limits.idle_quiet_s,
        busy_cores_min=0.7,
        busy_cores_fraction=0.07,
        left_min_s=0.0,
        unused_others_s=0.0,
        spinning_busy_percent=95.0,
        spinning_changed_busy_percent=95.0,
        spinning_part_percent=90.0,
        spinning_parts_fraction=0.75,
        spinning_power_fraction=limits.flat_power_fraction,
        trend_fit=0.90,
        trend_last_third_min=0.3,
        trend_part_min=0.0,
        trend_flat_fraction=1.0,
        trend_ahead_factor=2.0,
        host_memory_full_fraction=limits.host_memory_fraction_min,
        gpu_memory_fraction_min=0.90,
        limit_progress_factor=1.0,
        limit_earlier_factor=1.0,
        limit_speed_up=1.5,
        limit_slower_max=2 * limits.limit_slower_max,
        limit_factor_max=2 * limits.limit_factor_max,
    )
