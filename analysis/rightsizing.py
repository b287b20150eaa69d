"""What to ask for next time: GPUs, nodes and tasks, cores, host memory, walltime, as an advisory diff.

Nothing is changed for the user, and nothing is advised that would alter neither the bill nor the queue time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from analysis.comparable import ComparableRun, longest_run_s, scaling_gpus
from analysis.facts import JobFacts, divide
from analysis.findings import Finding, FindingCode
from analysis.host_share import CORE_OPTIONS, MEMORY_OPTIONS, fitting_host, host_peak_gb, memory_is_default
from analysis.idle import is_idle
from analysis.thresholds import LIMITS, Limits
from jobs.hardware import Partition, partition_of
from jobs.sbatch import OptionChange, Shape, option_changes

FEWER_GPUS = (
    FindingCode.PARALLELISM_MISMATCH,
    FindingCode.IDLE_GPUS,
    FindingCode.NO_GPU_USE,
    FindingCode.EXCLUSIVE_NODE_UNDERUSED,
)


class RecommendationKind(StrEnum):
    GPUS = "gpus"
    HOST_MEMORY = "host_memory"
    CORES = "cores"
    WALLTIME = "walltime"


@dataclass(frozen=True)
class Recommendation:
    """One piece of advice: `basis` says what decided it, `evidence` in which numbers, `wanted` is the request after it.

    A basis is "active_gpus", "gpu_memory", "no_gpu_use", "overscaling", "own_scaling", "peak_memory", "busy_cores",
    "host_share", "out_of_memory", "run_time" or "own_runs".
    """

    kind: RecommendationKind
    basis: str
    evidence: Mapping[str, float | int]
    wanted: Shape
    changes: tuple[OptionChange, ...]

    @property
    def recommended_gpus(self) -> int | None:
        return self.wanted.gpus if self.kind is RecommendationKind.GPUS else None


def recommendations(
    facts: JobFacts,
    found: tuple[Finding, ...],
    limits: Limits = LIMITS,
    past: Sequence[ComparableRun] = (),
) -> tuple[Recommendation, ...]:
    """The advice that follows from what was found, most saving kind first; empty when the request already fits.

    `past` are the user's own comparable runs: where they can tell, they override a guess from this run alone.
    """
    resized = (
        _fewer_gpus(facts, found, limits, past)
        or _fitting_host(facts, found, limits)
        or _more_host_memory(facts, found, limits)
    )
    shorter = _shorter_walltime(facts, found, resized, limits, past)
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
    """GPUs that hold the sum of all peaks with a tenth to spare; 0 where no capacity is known.

    A GPU that did something and whose memory was not measured is taken to need a GPU of its own.
    """
    capacities_gb = facts.memory_capacity_gb[~np.isnan(facts.memory_capacity_gb)]
    if not capacities_gb.size:
        return 0
    peak_gb = facts.gpus.peak_mem_gb
    not_known = int(np.sum(np.isnan(peak_gb) & ~is_idle(facts, limits))) + max(facts.allocated_gpus - peak_gb.size, 0)
    return (
        math.ceil(float(np.nansum(peak_gb)) / (limits.memory_fill_fraction * float(np.min(capacities_gb)))) + not_known
    )


def _fewer_gpus(
    facts: JobFacts, found: tuple[Finding, ...], limits: Limits, past: Sequence[ComparableRun]
) -> Recommendation | None:
    basis, gpus, evidence = _gpu_need(facts, {finding.code for finding in found}, limits)
    if basis in ("overscaling", "gpu_memory") and (scaling := _own_scaling(facts, found, limits, past)):
        basis, (gpus, run_s) = "own_scaling", scaling
        evidence = {"gpus": facts.allocated_gpus, "scaling_gpus": gpus, "run_s": run_s, "elapsed_s": facts.elapsed_s}
    if not basis:
        return None
    now = requested_shape(facts)
    wanted = _with_gpus(facts, now, gpus, limits)
    if wanted is None or (wanted.gpus >= now.gpus and wanted.partition == now.partition):
        return None
    changes = option_changes(facts.record.request, _as_asked(facts, now), wanted)
    changes += _memory_to_add(facts, wanted, limits)
    return Recommendation(RecommendationKind.GPUS, basis, evidence, wanted, changes) if changes else None


def _own_scaling(
    facts: JobFacts, found: tuple[Finding, ...], limits: Limits, past: Sequence[ComparableRun]
) -> tuple[int, float] | None:
    """What the user's runs on other numbers of GPUs showed; idle GPUs are counted, not guessed, and stay as found."""
    if any(finding.code in FEWER_GPUS for finding in found):
        return None
    return scaling_gpus(facts.elapsed_s, facts.allocated_gpus, past, limits)


def _memory_to_add(facts: JobFacts, wanted: Shape, limits: Limits) -> tuple[OptionChange, ...]:
    """`--mem` where the request had none and the other partition's default would be less than the job needs."""
    record = facts.record
    target = partition_of(record.cluster, wanted.partition)
    if wanted.partition == record.partition or target is None or target.default_memory_gb is None:
        return ()
    if wanted.memory_gb is None or MEMORY_OPTIONS & record.request.keys():
        return ()
    peak_gb = host_peak_gb(facts)
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
        needed_gb = math.ceil(limits.headroom_factor * (host_peak_gb(facts) or 0.0))
        share_gb = shape.gpus * partition.node.host_memory_share_gb if partition else math.ceil(memory_gb * share)
        memory_gb = max(min(memory_gb, share_gb), min(memory_gb, needed_gb))
        if partition and memory_gb > shape.nodes * partition.node.host_memory_gb:
            return None
    return replace(shape, cores=cores, memory_gb=memory_gb)


def _fitting_host(facts: JobFacts, found: tuple[Finding, ...], limits: Limits) -> Recommendation | None:
    """Fewer cores, less host memory, or both, where they alone raise the bill of a shared partition."""
    fitting = fitting_host(facts, limits)
    if fitting is None or not any(finding.code is FindingCode.CORES_OR_MEMORY_BEYOND_SHARE for finding in found):
        return None
    now = requested_shape(facts)
    memory_gb = now.memory_gb if fitting.memory_gb is None else fitting.memory_gb
    cores = now.cores if fitting.cores is None else fitting.cores
    evidence: dict[str, float | int] = {"headroom_factor": limits.headroom_factor}
    if fitting.memory_gb is not None:
        evidence |= {
            "memory_gb": facts.held.memory_gb,
            "peak_memory_gb": fitting.peak_memory_gb,
            "recommended_memory_gb": fitting.memory_gb,
        }
    if fitting.cores is not None:
        evidence |= {"cores": facts.held.cores, "busy_cores": fitting.busy_cores, "recommended_cores": fitting.cores}
    kind = RecommendationKind.CORES if fitting.memory_gb is None else RecommendationKind.HOST_MEMORY
    basis = "busy_cores" if fitting.memory_gb is None else "peak_memory" if fitting.cores is None else "host_share"
    return _changed(kind, basis, evidence, facts, replace(now, cores=cores, memory_gb=memory_gb))


def _more_host_memory(facts: JobFacts, found: tuple[Finding, ...], limits: Limits) -> Recommendation | None:
    """More host memory after it ran out, as far as it comes with the GPUs and so costs nothing more."""
    now = requested_shape(facts)
    if facts.partition is None or facts.is_exclusive or not now.memory_gb or not now.gpus:
        return None
    if not any(finding.code is FindingCode.HOST_OUT_OF_MEMORY for finding in found):
        return None
    share_gb = now.gpus * facts.partition.node.host_memory_share_gb
    needed_gb = math.ceil(limits.headroom_factor * max(host_peak_gb(facts) or 0.0, now.memory_gb) / now.nodes)
    memory_gb = min(float(needed_gb * now.nodes), share_gb)
    if memory_gb <= now.memory_gb:
        return None
    evidence = {"memory_gb": now.memory_gb, "recommended_memory_gb": memory_gb, "share_gb": share_gb}
    wanted = replace(now, memory_gb=memory_gb)
    return _changed(RecommendationKind.HOST_MEMORY, "out_of_memory", evidence, facts, wanted)


def _changed(
    kind: RecommendationKind, basis: str, evidence: Mapping[str, float | int], facts: JobFacts, wanted: Shape
) -> Recommendation | None:
    """The advice, or None where it would change none of the user's options."""
    now = requested_shape(facts)
    changes = option_changes(facts.record.request, _as_asked(facts, now), wanted) + _unspelled(facts, now, wanted)
    return Recommendation(kind, basis, evidence, wanted, changes) if changes else None


def _unspelled(facts: JobFacts, now: Shape, wanted: Shape) -> tuple[OptionChange, ...]:
    """Changes of cores and host memory that no option of the known request names, in the plainest spelling."""
    request, changes = facts.record.request.keys(), []
    if wanted.cores and now.cores and wanted.cores != now.cores and not CORE_OPTIONS & request:
        before, after = (max(shape.cores // (shape.ntasks or 1), 1) for shape in (now, wanted) if shape.cores)
        changes.append(OptionChange("--cpus-per-task", str(before), str(after)))
    if wanted.memory_gb and now.memory_gb and wanted.memory_gb != now.memory_gb and not MEMORY_OPTIONS & request:
        asked = "" if memory_is_default(facts) else f"{math.ceil(now.memory_gb / now.nodes)}G"
        changes.append(OptionChange("--mem", asked, f"{math.ceil(wanted.memory_gb / wanted.nodes)}G"))
    return tuple(change for change in changes if change.requested != change.recommended)


def _shorter_walltime(
    facts: JobFacts,
    found: tuple[Finding, ...],
    resized: Recommendation | None,
    limits: Limits,
    past: Sequence[ComparableRun],
) -> Recommendation | None:
    """A time limit close to the run, or to the longer run on fewer, busier GPUs."""
    requested_s = facts.record.walltime_requested_s
    if requested_s is None or not any(finding.code is FindingCode.WALLTIME_OVERREQUEST for finding in found):
        return None
    longest_s = longest_run_s(facts.elapsed_s, facts.allocated_gpus, past)
    run_s = max(run_seconds_after(facts, resized, limits), longest_s)
    walltime_s = math.ceil(limits.headroom_factor * run_s / limits.walltime_step_s) * limits.walltime_step_s
    if walltime_s >= requested_s:
        return None
    evidence = {
        "walltime_requested_s": requested_s,
        "walltime_used_s": facts.elapsed_s,
        "longest_run_s": longest_s,
        "recommended_walltime_s": walltime_s,
        "headroom_factor": limits.headroom_factor,
    }
    basis = "own_runs" if longest_s > facts.elapsed_s else "run_time"
    wanted = replace(requested_shape(facts), walltime_s=walltime_s)
    return _changed(RecommendationKind.WALLTIME, basis, evidence, facts, wanted)


def run_seconds_after(facts: JobFacts, advice: Recommendation | None, limits: Limits = LIMITS) -> float:
    """How long the run would take with the advice: as the user's own run did, or longer only where fewer GPUs take
    over the same busy seconds."""
    average = facts.avg_gpu_util
    if advice is not None and advice.basis == "own_scaling":
        return float(advice.evidence["run_s"])
    if advice is None or advice.basis != "overscaling" or average is None:
        return facts.elapsed_s
    busy_gpu_s = facts.allocated_gpus * facts.elapsed_s * average / 100
    return max(busy_gpu_s / (advice.wanted.gpus * limits.target_percent / 100), facts.elapsed_s)


def _as_asked(facts: JobFacts, now: Shape) -> Shape:
    """`now` as the user asked for it: an exclusive node gives more GPUs than the request names."""
    return replace(now, gpus=facts.record.gpus_requested or now.gpus)
