"""The thresholds of early words, each with its source."""

from __future__ import annotations

from dataclasses import dataclass

EARLY_RULES_VERSION = "early-2"
"""Stored with every word; a change of the rules or of a threshold changes it."""


@dataclass(frozen=True)
class EarlyLimits:
    """The thresholds; seconds, percent and fractions as their names say.

    Those that judge a whole run as well are in `analysis.thresholds`. Source unless a line says otherwise: half an hour
    is the shortest time after which a word is sent, by the definition of early words; everything else is chosen so that
    a usual phase of healthy work is no reason for one.
    """

    # GPUs without work: half an hour beside a host that does nothing either, as after a program has ended or hangs. An
    # hour while something goes on after their work, which is often a step between two on the GPUs.
    idle_quiet_s: float = 1800.0
    idle_s: float = 3600.0
    # From the start: an hour beside a host that computes with most of its cores, as a program without GPUs does; two
    # hours otherwise, since data are often unpacked, read or downloaded for more than one (noisy library).
    idle_start_busy_s: float = 3600.0
    idle_start_s: float = 7200.0
    # A person who works in a session is at lunch, in a meeting or reads: half a working day is none of these.
    idle_interactive_s: float = 4 * 3600.0
    # Below half a core on each node nothing but a shell or a server that waits is running.
    quiet_cores: float = 0.5
    # Some of the GPUs: an hour, in the last half hour of which others worked all the time. One GPU often prepares what
    # the others need, and GPUs start one after the other. With words each hour this costs no time.
    unused_s: float = 3600.0
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
    # The host computes: about one core, and a tenth of those of the job; `host_busy_fraction` is most of them.
    busy_cores_min: float = 0.9
    busy_cores_fraction: float = 0.10
    host_busy_fraction: float = 0.6

    # A node sends each hour, spread over a quarter of an hour by the timer; after that it is not known what it does.
    heard_s: float = 5400.0
    # With less time left than this a word that arrives by mail changes nothing any more.
    left_min_s: float = 1800.0

    # Busy at low power: the thresholds of `busy_but_waiting` (noisy library: kernels that work draw 0.59 and more of
    # the cap, those that spin 0.42 and less) without their rise towards 100 percent, for half an hour.
    spinning_s: float = 1800.0
    spinning_busy_percent: float = 70.0
    spinning_power_fraction: float = 0.40
    spinning_modules_fraction: float = 0.75
    # A loop that waits is as busy in each part of the time as in the next.
    spinning_spread_points: float = 10.0
    spinning_parts_min: int = 6

    # Memory: a line through at least twelve points of the last half of the course, at least half an hour; it counts as
    # a trend if it explains nearly all of the course and the last third rises as the whole does.
    trend_points_min: int = 12
    trend_s: float = 1800.0
    trend_fit: float = 0.95
    trend_last_third_min: float = 0.7
    trend_last_third_max: float = 2.0
    # A fall of more than this share of the rise is memory that is freed again: garbage, epochs, checkpoints.
    trend_fall_fraction: float = 0.15
    # Two-sided 95 percent of a normal distribution; `fit` widens it for few points (Student's t).
    trend_certainty: float = 1.96
    # A line is not continued for more than so many times the time that it was seen.
    trend_ahead_factor: float = 3.0
    # Below this share of the limit a load of data may end before it.
    host_memory_fraction_min: float = 0.50
    # Memory that fills while no GPU works is data being loaded; work shows as this mean use.
    memory_working_percent: float = 10.0
    gpu_memory_fraction_min: float = 0.90
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
    limit_progress_s: float = 1800.0
    limit_points_min: int = 12
    limit_blocks: int = 4
    # A counter that begins with so many of its steps done goes on from a checkpoint.
    limit_resumed_fraction: float = 0.02


EARLY_LIMITS = EarlyLimits()
