"""Memory that ran short, on the GPUs or on the host."""

import math

import numpy as np

from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode, confidence, counted, margin_above
from analysis.naming import gpu_list
from analysis.thresholds import LIMITS, Limits
from metrics.series import highest


def gpu_memory_pressure(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Some GPU's memory was nearly full, and the job did not fail because of it."""
    if gpu_out_of_memory(facts, limits) is not None:
        return None
    full = _full_gpus(facts, limits)
    return Finding(FindingCode.GPU_MEMORY_PRESSURE, counted(facts.coverage_fraction), full) if full else None


def gpu_out_of_memory(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """The program itself failed while some GPU's memory was nearly full.

    Slurm has no state for it: OUT_OF_MEMORY and the kernel's kills are about host memory only (slurm.conf(5)).
    """
    if not _failed_by_itself(facts):
        return None
    full = _full_gpus(facts, limits)
    if full is None or not _is_full_at_the_end(facts, limits):
        return None
    margin = margin_above(float(full["peak_memory_fraction"]), limits.memory_pressure_fraction)
    return Finding(FindingCode.GPU_OUT_OF_MEMORY, confidence(facts.coverage_fraction, margin), full)


def host_out_of_memory(facts: JobFacts, limits: Limits = LIMITS) -> Finding | None:
    """Slurm or the kernel ended processes because the job exceeded its host memory."""
    kills = facts.hosts.oom_kills
    killed = int(np.nansum(kills))
    if facts.record.state != "OUT_OF_MEMORY" and killed == 0:
        return None
    evidence: dict[str, float | int | str] = {}
    if np.any(~np.isnan(kills)):
        evidence["oom_kills"] = killed
    for name in ("peak_memory_gb", "memory_limit_gb"):
        if (most_gb := highest(getattr(facts.hosts, name))) is not None:
            evidence[name] = most_gb
    return Finding(FindingCode.HOST_OUT_OF_MEMORY, 1.0, evidence)


def _full_gpus(facts: JobFacts, limits: Limits) -> dict[str, float | int | str] | None:
    """The numbers of the GPUs whose memory was nearly full; None where no GPU's was."""
    fractions = facts.memory_fractions
    is_full = fractions >= limits.memory_pressure_fraction
    if not np.any(is_full):
        return None
    fullest = int(np.nanargmax(fractions))
    return {
        "full_gpus": int(np.sum(is_full)),
        "gpus": facts.gpus.count,
        "peak_memory_gb": float(facts.gpus.peak_mem_gb[fullest]),
        "capacity_gb": float(facts.memory_capacity_gb[fullest]),
        "peak_memory_fraction": min(float(fractions[fullest]), 1.0),
        "gpu_list": gpu_list(facts, is_full),
    }


def _is_full_at_the_end(facts: JobFacts, limits: Limits) -> bool:
    """Whether a full GPU was still (nearly) as full in the last quarter of the run, where a timeline shows it."""
    mem_gb = facts.series.mem_gb[:, facts.memory_fractions >= limits.memory_pressure_fraction]
    enough_gb = limits.memory_fill_fraction * float(np.nanmax(facts.gpus.peak_mem_gb))
    is_full = mem_gb >= enough_gb
    # A peak shorter than a bucket is nowhere in the timeline: it may have been the last event.
    if not np.any(is_full):
        return True
    return bool(np.any(is_full[-math.ceil(is_full.shape[0] / 4) :]))


def _failed_by_itself(facts: JobFacts) -> bool:
    """Whether the program ended with an error that is not caused by Slurm, a signal or the kernel."""
    code, _, signal = facts.record.exit_code.partition(":")
    was_killed = bool(np.any(facts.hosts.oom_kills > 0))
    return facts.record.state == "FAILED" and code not in ("", "0") and signal in ("", "0") and not was_killed
