"""What to ask for next time: fewer GPUs, less host memory, a shorter walltime, as an advisory diff.

Nothing is changed for the user, and nothing is advised that would alter neither the bill nor the queue time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from analysis.facts import JobFacts, divide
from analysis.findings import Finding, FindingCode
from analysis.thresholds import LIMITS, Limits
from jobs.billing import gpu_hours
from jobs.hardware import Partition, partition_of
from jobs.sbatch import OptionChange, Shape, option_changes

FEWER_GPUS = (FindingCode.PARALLELISM_MISMATCH, FindingCode.IDLE_GPUS, FindingCode.NO_GPU_USE)


class RecommendationKind(StrEnum):
    GPUS = "gpus"
    HOST_MEMORY = "host_memory"
    WALLTIME = "walltime"


@dataclass(frozen=True)
class Recommendation:
    """One piece of advice: `basis` says what decided it, `evidence` in which numbers, `wanted` is the request after it.

    A basis is "active_gpus", "gpu_memory", "no_gpu_use", "overscaling", "peak_memory" or "run_time".
    """

    kind: RecommendationKind
    basis: str
    evidence: Mapping[str, float | int]
    wanted: Shape
    changes: tuple[OptionChange, ...]

    @property
    def recommended_gpus(self) -> int | None:
        return self.wanted.gpus if self.kind is RecommendationKind.GPUS else None


def recommendations(facts: JobFacts, found: tuple[Finding, ...], limits: Limits = LIMITS) -> tuple[Recommendation, ...]:
    """The advice that follows from what was found, most saving kind first; empty when the request already fits."""
    resized = _fewer_gpus(facts, found, limits) or _less_host_memory(facts, found, limits)
    shorter = _shorter_walltime(facts, found, resized, limits)
    return tuple(advice for advice in (resized, shorter) if advice is not None)


def requested_shape(facts: JobFacts) -> Shape:
    """What the run held, as a request; the time limit as asked for."""
    record, held = facts.record, facts.held
    return Shape(
        nodes=held.nodes,
        gpus=held.gpus,
        ntasks=record.ntasks,
        cores=held.cores or None,
        memory_gb=held.memory_gb or None,
        walltime_s=record.walltime_requested_s,
        partition=record.partition,
        is_exclusive=held.is_exclusive,
    )


def active_gpus(facts: JobFacts, limits: Limits = LIMITS) -> int:
    """GPUs with sustained use: above `active_gpu_percent` for half of the run, or on average.

    The mean counts too, so that a GPU in strong bursts is never advised away. A GPU that was not measured counts as
    active: what is not known is not taken from anyone.
    """
    histogram_s = facts.gpus.histogram_s
    above = int(limits.active_gpu_percent) + 1
    busy_fraction = divide(histogram_s[:, above:].sum(axis=1), histogram_s.sum(axis=1))
    is_sustained = busy_fraction >= limits.sustained_run_fraction
    is_active = is_sustained | (facts.gpus.avg_util > limits.active_gpu_percent)
    return int(np.sum(is_active)) + max(facts.allocated_gpus - facts.gpus.count, 0)


def gpus_for_memory(facts: JobFacts, limits: Limits = LIMITS) -> int:
    """GPUs that hold the sum of all peaks with a tenth to spare; 0 where memory or capacity is not known."""
    peak_gb = float(np.nansum(facts.gpus.peak_mem_gb))
    capacities_gb = facts.memory_capacity_gb[~np.isnan(facts.memory_capacity_gb)]
    if not capacities_gb.size:
        return 0
    return math.ceil(peak_gb / (limits.memory_fill_fraction * float(np.min(capacities_gb))))


def _fewer_gpus(facts: JobFacts, found: tuple[Finding, ...], limits: Limits) -> Recommendation | None:
    basis, gpus, evidence = _gpu_need(facts, {finding.code for finding in found}, limits)
    if not basis:
        return None
    now = requested_shape(facts)
    wanted = _with_gpus(facts, now, gpus, limits)
    if wanted is None or (wanted.gpus >= now.gpus and wanted.partition == now.partition):
        return None
    changes = option_changes(facts.record.request, _as_asked(facts, now), wanted)
    changes += _memory_to_add(facts, wanted, limits)
    return Recommendation(RecommendationKind.GPUS, basis, evidence, wanted, changes) if changes else None


def _memory_to_add(facts: JobFacts, wanted: Shape, limits: Limits) -> tuple[OptionChange, ...]:
    """`--mem` where the request had none and the other partition's default would be less than the job needs."""
    record = facts.record
    target = partition_of(record.cluster, wanted.partition)
    if wanted.partition == record.partition or target is None or target.default_memory_gb is None:
        return ()
    if wanted.memory_gb is None or {"--mem", "--mem-per-gpu", "--mem-per-cpu"} & record.request.keys():
        return ()
    peak_gb = _host_peak_gb(facts)
    needed_gb = wanted.memory_gb if peak_gb is None else limits.headroom_factor * peak_gb
    if needed_gb <= target.default_memory_gb * wanted.nodes:
        return ()
    return (OptionChange("--mem", "", f"{math.ceil(wanted.memory_gb / wanted.nodes)}G"),)


def _gpu_need(facts: JobFacts, codes: set[FindingCode], limits: Limits) -> tuple[str, int, dict[str, float | int]]:
    """What decides the number of GPUs, the number, and the numbers behind it; no basis, no advice."""
    gpus, memory_gpus = facts.allocated_gpus, gpus_for_memory(facts, limits)
    if codes.intersection(FEWER_GPUS):
        active = active_gpus(facts, limits)
        if memory_gpus > max(active, 1):
            return "gpu_memory", memory_gpus, _memory_evidence(facts, active, memory_gpus)
        if active == 0:
            return "no_gpu_use", 1, {"gpus": gpus}
        return (
            "active_gpus",
            active,
            {"gpus": gpus, "active_gpus": active, "threshold_percent": limits.active_gpu_percent},
        )
    average = facts.avg_gpu_util
    if FindingCode.OVERSCALING not in codes or FindingCode.CPU_BOTTLENECK in codes or average is None:
        return "", gpus, {}
    busy = max(math.ceil(gpus * average / limits.target_percent), 1)
    if memory_gpus > busy:
        return "gpu_memory", memory_gpus, _memory_evidence(facts, active_gpus(facts, limits), memory_gpus)
    evidence = {"gpus": gpus, "avg_util_percent": average, "target_percent": limits.target_percent, "busy_gpus": busy}
    return "overscaling", busy, evidence


def _memory_evidence(facts: JobFacts, active: int, memory_gpus: int) -> dict[str, float | int]:
    return {
        "gpus": facts.allocated_gpus,
        "active_gpus": active,
        "memory_gpus": memory_gpus,
        "peak_memory_total_gb": float(np.nansum(facts.gpus.peak_mem_gb)),
    }


def _with_gpus(facts: JobFacts, now: Shape, gpus: int, limits: Limits) -> Shape | None:
    """`now` with at least `gpus` GPUs: part of a node, or whole nodes; None where the host memory would not fit."""
    partition = facts.partition
    per_node = partition.node.gpus if partition else math.ceil(now.gpus / now.nodes)
    if gpus > per_node:
        gpus = math.ceil(gpus / per_node) * per_node
    target, name = partition, now.partition
    if partition and partition.is_exclusive and gpus < per_node:
        if partition.shared_twin is None:
            gpus = per_node
        else:
            name = partition.shared_twin
            target = partition_of(facts.record.cluster, name)
    gpus = min(gpus, now.gpus)
    shape = replace(
        now,
        nodes=min(math.ceil(gpus / per_node), now.nodes),
        gpus=gpus,
        ntasks=min(now.ntasks, gpus) if now.ntasks else now.ntasks,
        partition=name,
        is_exclusive=now.is_exclusive and gpus >= per_node,
    )
    return _with_host_share(facts, shape, target, limits)


def _with_host_share(facts: JobFacts, shape: Shape, partition: Partition | None, limits: Limits) -> Shape | None:
    """The cores and host memory that come with the GPUs, never more than before, never less memory than was needed."""
    now = requested_shape(facts)
    share = shape.gpus / now.gpus
    cores, memory_gb = now.cores, now.memory_gb
    if cores:
        cores = min(cores, shape.gpus * partition.node.cores_per_gpu if partition else math.ceil(cores * share))
    if memory_gb:
        needed_gb = math.ceil(limits.headroom_factor * (_host_peak_gb(facts) or 0.0))
        share_gb = shape.gpus * partition.node.host_memory_share_gb if partition else math.ceil(memory_gb * share)
        memory_gb = max(min(memory_gb, share_gb), min(memory_gb, needed_gb))
        if partition and memory_gb > shape.nodes * partition.node.host_memory_gb:
            return None
    return replace(shape, cores=cores, memory_gb=memory_gb)


def _less_host_memory(facts: JobFacts, found: tuple[Finding, ...], limits: Limits) -> Recommendation | None:
    """Less host memory where it alone raises the bill of a shared partition."""
    now, peak_gb = requested_shape(facts), _host_peak_gb(facts)
    if facts.partition is None or facts.partition.is_exclusive or now.memory_gb is None or peak_gb is None:
        return None
    if any(finding.code is FindingCode.HOST_OUT_OF_MEMORY for finding in found):
        return None
    memory_gb = float(math.ceil(limits.headroom_factor * peak_gb / now.nodes) * now.nodes)
    wanted = replace(now, memory_gb=memory_gb)
    later = gpu_hours(facts.partition, replace(facts.held, memory_gb=memory_gb), facts.elapsed_s)
    if later is None or facts.gpu_hours is None or later >= facts.gpu_hours:
        return None
    evidence = {
        "memory_gb": now.memory_gb,
        "peak_memory_gb": peak_gb,
        "recommended_memory_gb": memory_gb,
        "headroom_factor": limits.headroom_factor,
    }
    changes = option_changes(facts.record.request, _as_asked(facts, now), wanted)
    return Recommendation(RecommendationKind.HOST_MEMORY, "peak_memory", evidence, wanted, changes) if changes else None


def _shorter_walltime(
    facts: JobFacts, found: tuple[Finding, ...], resized: Recommendation | None, limits: Limits
) -> Recommendation | None:
    """A time limit close to the run, or to the longer run on fewer, busier GPUs."""
    requested_s = facts.record.walltime_requested_s
    if requested_s is None or not any(finding.code is FindingCode.WALLTIME_OVERREQUEST for finding in found):
        return None
    run_s = run_seconds_after(facts, resized, limits)
    walltime_s = math.ceil(limits.headroom_factor * run_s / limits.walltime_step_s) * limits.walltime_step_s
    if walltime_s >= requested_s:
        return None
    now = requested_shape(facts)
    wanted = replace(now, walltime_s=walltime_s)
    evidence = {
        "walltime_requested_s": requested_s,
        "walltime_used_s": facts.elapsed_s,
        "recommended_walltime_s": walltime_s,
        "headroom_factor": limits.headroom_factor,
    }
    changes = option_changes(facts.record.request, _as_asked(facts, now), wanted)
    return Recommendation(RecommendationKind.WALLTIME, "run_time", evidence, wanted, changes)


def run_seconds_after(facts: JobFacts, advice: Recommendation | None, limits: Limits = LIMITS) -> float:
    """How long the run would take with the advice: longer only where fewer GPUs take over the same busy seconds."""
    average = facts.avg_gpu_util
    if advice is None or advice.basis != "overscaling" or average is None:
        return facts.elapsed_s
    busy_gpu_s = facts.allocated_gpus * facts.elapsed_s * average / 100
    return max(busy_gpu_s / (advice.wanted.gpus * limits.target_percent / 100), facts.elapsed_s)


def _as_asked(facts: JobFacts, now: Shape) -> Shape:
    """`now` as the user asked for it: an exclusive node gives more GPUs than the request names."""
    return replace(now, gpus=facts.record.gpus_requested or now.gpus)


def _host_peak_gb(facts: JobFacts) -> float | None:
    """Host memory the job needs over all its nodes: as many times the fullest node; None unless each was measured."""
    peaks_gb = facts.hosts.peak_memory_gb
    if not peaks_gb.size or np.any(np.isnan(peaks_gb)) or peaks_gb.size < facts.held.nodes:
        return None
    return float(np.max(peaks_gb)) * facts.held.nodes
