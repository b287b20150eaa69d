"""Root causes: one pure function each, all in `RULES`; several may hold for one job.

A finding that rests on measurements loses confidence with missing coverage; one that rests on Slurm's record alone
(`timeout`, `walltime_overrequest`, an out-of-memory state) does not.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from analysis.facts import JobFacts, run_seconds
from analysis.findings import Finding, FindingCode, confidence, margin_above, margin_below
from analysis.idle import gpu_list, is_idle
from analysis.phases import final_util_percent, span_thirds
from analysis.thresholds import LIMITS, Limits
from metrics.series import Floats

Rule = Callable[[JobFacts, Limits], Finding | None]

# Names that Slurm and Open OnDemand give to sessions a person sits at (salloc(1), srun(1); LUMI web interface guide):
# salloc's own, the shell that srun starts, and the path of a dashboard's app.
INTERACTIVE_NAMES = frozenset("interactive salloc bash sh zsh csh tcsh fish jupyter jupyter-lab vscode".split())
DASHBOARD_PREFIX = "sys/dashboard/"


def no_gpu_use(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Every GPU idle for nearly the whole job."""
    if not facts.gpus.count or not np.all(is_idle(facts, limits)):
        return None
    idle_fraction = float(np.min(facts.idle_fractions))
    return Finding(
        FindingCode.NO_GPU_USE,
        confidence(facts.coverage_fraction, margin_above(idle_fraction, limits.idle_gpu_fraction)),
        {"gpus": facts.gpus.count, "idle_fraction": idle_fraction, "elapsed_s": facts.elapsed_s},
    )


def parallelism_mismatch(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """At most half of several GPUs work, at least one does; even use just around the threshold is another matter."""
    util_percent, gpus = facts.gpus.avg_util, facts.gpus.count
    is_active = util_percent > limits.active_gpu_percent
    active = int(np.sum(is_active))
    if gpus < 2 or active == 0 or active > gpus * limits.active_share_max:
        return None
    if _variation(util_percent) < limits.uneven_variation:
        return None
    active_percent = float(np.mean(util_percent[is_active]))
    inactive_percent = float(np.mean(util_percent[~is_active]))
    # Counts are whole: the first count for which the rule no longer holds is the threshold.
    first_not_held = int(gpus * limits.active_share_max) + 1
    return Finding(
        FindingCode.PARALLELISM_MISMATCH,
        confidence(
            facts.coverage_fraction,
            margin_below(active, first_not_held),
            margin_above(active_percent, limits.active_gpu_percent, 100.0),
            margin_below(inactive_percent, limits.active_gpu_percent),
        ),
        {
            "gpus": gpus,
            "active_gpus": active,
            "active_util_percent": active_percent,
            "inactive_util_percent": inactive_percent,
            "threshold_percent": limits.active_gpu_percent,
        },
    )


def idle_gpus(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Some but not all GPUs idle for nearly the whole job, however good the mean."""
    idle = is_idle(facts, limits)
    if not np.any(idle) or np.all(idle):
        return None
    idle_fraction = float(np.mean(facts.idle_fractions[idle]))
    return Finding(
        FindingCode.IDLE_GPUS,
        confidence(facts.coverage_fraction, margin_above(idle_fraction, limits.idle_gpu_fraction)),
        {
            "idle_gpus": int(np.sum(idle)),
            "gpus": facts.gpus.count,
            "idle_fraction": idle_fraction,
            "elapsed_s": facts.elapsed_s,
            "gpu_list": gpu_list(facts, idle),
        },
    )


def cpu_bottleneck(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The working GPUs wait while the host is busy: most cores, or exactly one core of every rank."""
    working = ~is_idle(facts, limits)
    cores, busy_cores = facts.hosts.cores_allocated, facts.hosts.busy_cores_avg
    is_known = ~np.isnan(cores) & ~np.isnan(busy_cores) & (cores > 0)
    if not np.any(working) or not np.any(is_known):
        return None
    util_percent = float(np.mean(facts.gpus.avg_util[working]))
    if util_percent >= limits.low_use_percent:
        return None
    cores_total, busy_total = float(np.sum(cores[is_known])), float(np.sum(busy_cores[is_known]))
    evidence: dict[str, float | int | str] = {
        "gpu_util_percent": util_percent,
        "cores_allocated": round(cores_total),
        "busy_cores": busy_total,
        "busy_fraction": min(busy_total / cores_total, 1.0),
    }
    margins = {"busy_host": margin_above(min(busy_total / cores_total, 1.0), limits.busy_host_fraction)}
    ranks = facts.hosts.ranks[is_known]
    if np.all(ranks > 0):
        per_rank = busy_cores[is_known] / ranks
        evidence |= {"ranks": int(np.sum(ranks)), "busy_cores_per_rank": busy_total / float(np.sum(ranks))}
        margins["one_core_per_rank"] = min(_pinned_margin(float(cores), limits) for cores in per_rank)
    pattern, margin = max(margins.items(), key=lambda item: item[1])
    if margin < 0:
        return None
    return Finding(
        FindingCode.CPU_BOTTLENECK,
        confidence(facts.coverage_fraction, margin, margin_below(util_percent, limits.low_use_percent)),
        evidence | {"pattern": pattern},
    )


def overscaling(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Several GPUs evenly at low use with little memory: the work would fit on fewer."""
    average, fractions = facts.avg_gpu_util, facts.memory_fractions
    if facts.gpus.count < 2 or average is None or np.any(np.isnan(fractions)):
        return None
    peak_fraction = float(np.max(fractions))
    is_low = average < limits.low_use_percent and peak_fraction < limits.low_memory_fraction
    if not is_low or np.any(is_idle(facts, limits)) or _is_uneven(facts, limits):
        return None
    return Finding(
        FindingCode.OVERSCALING,
        confidence(
            facts.coverage_fraction,
            margin_below(average, limits.low_use_percent),
            margin_below(peak_fraction, limits.low_memory_fraction),
        ),
        {
            "gpus": facts.gpus.count,
            "avg_util_percent": average,
            "peak_memory_fraction": peak_fraction,
            "peak_memory_gb": float(np.max(facts.gpus.peak_mem_gb)),
        },
    )


def io_or_sync_stall(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """GPU use falls after the first third of the active span and stays low."""
    thirds = span_thirds(facts, limits)
    if thirds is None:
        return None
    first_percent, later_percent = thirds
    drop_points = first_percent - later_percent
    if drop_points < limits.stall_drop_points or drop_points < limits.stall_drop_fraction * first_percent:
        return None
    points_to, waits = _stall_cause(facts, limits)
    margins = [
        margin_above(drop_points, limits.stall_drop_points, 100.0),
        margin_above(drop_points / first_percent, limits.stall_drop_fraction),
    ]
    if points_to == "io":
        margins.append(1.0)
    return Finding(
        FindingCode.IO_OR_SYNC_STALL,
        confidence(facts.coverage_fraction, *margins),
        {
            "first_third_percent": first_percent,
            "later_percent": later_percent,
            "drop_points": drop_points,
            **waits,
            "points_to": points_to,
        },
    )


def host_out_of_memory(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Slurm or the kernel ended processes because the job passed its host memory."""
    kills = facts.hosts.oom_kills
    killed = int(np.nansum(kills))
    if facts.record.state != "OUT_OF_MEMORY" and killed == 0:
        return None
    evidence: dict[str, float | int | str] = {}
    if np.any(~np.isnan(kills)):
        evidence["oom_kills"] = killed
    for name, values in (
        ("peak_memory_gb", facts.hosts.peak_memory_gb),
        ("memory_limit_gb", facts.hosts.memory_limit_gb),
    ):
        if np.any(~np.isnan(values)):
            evidence[name] = float(np.nanmax(values))
    return Finding(FindingCode.HOST_OUT_OF_MEMORY, 1.0, evidence)


def timeout(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The time limit ended the job; whether its GPUs were busy to the end decides the advice."""
    if facts.record.state != "TIMEOUT":
        return None
    evidence: dict[str, float | int | str] = {
        "walltime_requested_s": facts.record.walltime_requested_s or facts.elapsed_s
    }
    final_percent = final_util_percent(facts.series)
    if final_percent is not None:
        evidence["final_util_percent"] = final_percent
    return Finding(FindingCode.TIMEOUT, 1.0, evidence)


def walltime_overrequest(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """A completed batch job used far less time than it asked for."""
    record, used_s = facts.record, run_seconds(facts.record)
    requested_s = record.walltime_requested_s
    if record.state != "COMPLETED" or not requested_s or used_s <= limits.walltime_run_s or is_interactive(facts):
        return None
    used_fraction = used_s / requested_s
    if used_fraction >= limits.walltime_used_fraction:
        return None
    return Finding(
        FindingCode.WALLTIME_OVERREQUEST,
        confidence(1.0, margin_below(used_fraction, limits.walltime_used_fraction)),
        {"walltime_requested_s": requested_s, "walltime_used_s": used_s, "used_fraction": used_fraction},
    )


RULES: tuple[Rule, ...] = (
    no_gpu_use,
    parallelism_mismatch,
    idle_gpus,
    cpu_bottleneck,
    overscaling,
    io_or_sync_stall,
    host_out_of_memory,
    timeout,
    walltime_overrequest,
)


def findings(facts: JobFacts, limits: Limits = LIMITS) -> tuple[Finding, ...]:
    """Everything that holds, surest first; equally sure ones in the order of `RULES`."""
    held = [finding for rule in RULES if (finding := rule(facts, limits)) is not None]
    return tuple(sorted(held, key=lambda finding: -finding.confidence))


def is_interactive(facts: JobFacts) -> bool:
    """Whether a person sat at the job, so that unused walltime is no fault."""
    name = facts.record.job_name.lower()
    return name in INTERACTIVE_NAMES or name.startswith(DASHBOARD_PREFIX)


def _pinned_margin(cores_per_rank: float, limits: Limits) -> float:
    """1 at exactly one busy core a rank, 0 on the edges of the band, negative outside."""
    half_band = (limits.pinned_cores_per_rank_max - limits.pinned_cores_per_rank_min) / 2
    middle = limits.pinned_cores_per_rank_min + half_band
    return 1 - abs(cores_per_rank - middle) / half_band


def _is_uneven(facts: JobFacts, limits: Limits) -> bool:
    util_percent = facts.gpus.avg_util
    return float(np.ptp(util_percent)) >= limits.uneven_points and _variation(util_percent) >= limits.uneven_variation


def _variation(util_percent: Floats) -> float:
    """The coefficient of variation; 0 where all are idle."""
    mean = float(np.mean(util_percent))
    return float(np.std(util_percent)) / mean if mean > 0 else 0.0


def _stall_cause(facts: JobFacts, limits: Limits) -> tuple[str, dict[str, float]]:
    """What the host says of a stall ("io", "synchronisation", "unclear"), and the shares it says it by."""
    hosts, waits = facts.hosts, {}
    if np.any(~np.isnan(hosts.iowait_fraction)):
        waits["iowait_fraction"] = float(np.nanmean(hosts.iowait_fraction))
    if np.any(~np.isnan(hosts.pressure_io_s)) and facts.elapsed_s > 0:
        waits["io_pressure_fraction"] = min(float(np.nanmean(hosts.pressure_io_s)) / facts.elapsed_s, 1.0)
    if any(share >= limits.io_wait_fraction for share in waits.values()):
        return "io", waits
    is_idle_host = (
        float(np.nanmean(hosts.idle_fraction)) >= limits.idle_host_fraction
        if np.any(~np.isnan(hosts.idle_fraction))
        else False
    )
    return ("synchronisation" if waits and is_idle_host else "unclear"), waits
