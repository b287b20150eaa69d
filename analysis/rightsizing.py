"""What to request next time: GPUs, nodes and tasks, cores, host memory, walltime.

Nothing is changed for the user, and nothing is suggested that changes neither the bill nor the queue time.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

import numpy as np

from analysis.causes.request import has_chosen_limit
from analysis.causes.spread import HELD_MEMORY_GB
from analysis.comparable import ComparableRun, highest_host_peak_gb, limit_with_headroom_s, longest_run_s
from analysis.facts import JobFacts
from analysis.findings import Finding, FindingCode
from analysis.gpu_need import GpuNeed, countable, gpu_need
from analysis.host_share import HostNeed, fitting_host, host_need, own_busy_cores
from analysis.next_request import admitted, bill, is_cheaper, next_request, requested_shape
from analysis.thresholds import LIMITS, Limits
from jobs.hardware import partition_of
from jobs.sbatch import OptionChange, Shape, rounded
from jobs.work_key import is_trial


class RecommendationKind(StrEnum):
    GPUS = "gpus"
    HOST_MEMORY = "host_memory"
    CORES = "cores"
    WALLTIME = "walltime"


@dataclass(frozen=True)
class Recommendation:
    """One piece of advice: `basis` is what decided it, `evidence` the numbers.

    Where the user's own spelling explains what the run was allocated, `changes` are the lines to change; else `request`
    is the whole block to write, as sbatch options. `wanted` is what Slurm gives for the result, so that every claim
    follows from what is printed. A basis is "active_gpus", "gpu_memory", "no_gpu_use", "cpu_work", "smaller_gpu",
    "overscaling", "own_scaling", "peak_memory", "busy_cores", "host_share", "out_of_memory", "more_memory", "run_time",
    "own_runs", "more_time" or "own_longer_runs".
    """

    kind: RecommendationKind
    basis: str
    evidence: Mapping[str, float | int]
    wanted: Shape
    changes: tuple[OptionChange, ...]
    request: tuple[str, ...] = ()

    @property
    def recommended_gpus(self) -> int | None:
        return self.wanted.gpus if self.kind is RecommendationKind.GPUS else None


def recommendations(
    facts: JobFacts,
    found: tuple[Finding, ...],
    limits: Limits = LIMITS,
    past: Sequence[ComparableRun] = (),
) -> tuple[Recommendation, ...]:
    """The advice that follows from what was found, most saving kind first; empty when there is none.

    `past` are the user's own comparable runs: where they show it, they override an estimate from this run alone. Each
    piece builds on the one before it, and all show the same last block, so that any of them is complete.
    """
    codes = frozenset(finding.code for finding in found)
    if FindingCode.HOST_OUT_OF_MEMORY in codes:
        resized = _more_host_memory(facts, limits)
    else:
        host = host_need(facts, past, limits)
        fewer = _fewer_gpus(facts, codes, host, limits, past)
        resized = fewer or _smaller_gpu(facts, host, limits) or _fitting_host(facts, codes, host, limits, past)
    timed = _shorter_walltime(facts, codes, resized, limits, past) or _longer_walltime(
        facts, found, resized, limits, past
    )
    if resized is not None and timed is not None:
        resized = _beside(resized, timed)
    return tuple(advice for advice in (resized, timed) if advice is not None)


def _beside(resized: Recommendation, timed: Recommendation) -> Recommendation:
    """The advice on the size where there is also advice on the time: one block holds both, one value for each line."""
    if timed.request:
        return replace(resized, changes=(), request=timed.request)
    said = {change.option for change in timed.changes}
    return replace(resized, changes=tuple(change for change in resized.changes if change.option not in said))


def _fewer_gpus(
    facts: JobFacts, codes: frozenset[FindingCode], host: HostNeed, limits: Limits, past: Sequence[ComparableRun]
) -> Recommendation | None:
    need = gpu_need(facts, codes, limits, past) if facts.is_use_judged else None
    if need is None:
        return None
    if need.basis == "no_gpu_use" and (moved := _to_cpu_partition(facts, host, past)):
        return moved
    now = requested_shape(facts)
    fitting = (_with_gpus(facts, now, gpus, need, host, limits) for gpus in _counts(facts, now, need))
    wanted = next((shape for shape in fitting if shape is not None), None)
    if wanted is None or (wanted.gpus >= now.gpus and wanted.partition == now.partition):
        return None
    if wanted.partition != now.partition and not is_cheaper(facts, wanted):
        return None
    evidence = {**need.evidence, **own_busy_cores(facts, past), "recommended_gpus": wanted.gpus}
    return _advice(RecommendationKind.GPUS, need.basis, evidence, facts, wanted)


def _to_cpu_partition(facts: JobFacts, host: HostNeed, past: Sequence[ComparableRun]) -> Recommendation | None:
    """A CPU partition for work that uses more cores than come with one GPU, and no GPU memory."""
    partition = facts.partition
    if host.cores is None or partition is None or not partition.cpu_partition:
        return None
    if host.cores <= partition.node.cores_per_gpu or np.any(facts.gpus.peak_mem_gb >= HELD_MEMORY_GB):
        return None
    now = requested_shape(facts)
    used_gb = host.memory_gb(now.nodes)
    wanted = replace(
        now,
        gpus=0,
        cores=min(host.cores, now.cores) if now.cores else host.cores,
        memory_gb=min(used_gb, now.memory_gb) if used_gb and now.memory_gb else now.memory_gb,
        partition=partition.cpu_partition,
        is_exclusive=False,
    )
    evidence = {"gpus": facts.allocated_gpus, "busy_cores": facts.busy_cores or 0.0, "recommended_gpus": 0}
    longest_s = longest_run_s(facts.elapsed_s, facts.allocated_gpus, past)
    if now.walltime_s and longest_s > now.walltime_s:
        # All lines are new, and this one is no shorter than what an own run took.
        wanted = replace(wanted, walltime_s=limit_with_headroom_s(longest_s))
        evidence["longest_run_s"] = longest_s
    return _advice(RecommendationKind.GPUS, "cpu_work", evidence, facts, wanted)


def _smaller_gpu(facts: JobFacts, host: HostNeed, limits: Limits) -> Recommendation | None:
    """A part of a GPU, where the site has them, for a job of one GPU with little use and little memory."""
    partition = facts.partition
    smaller = partition.smaller_gpu if partition else None
    if smaller is None or facts.allocated_gpus != 1 or facts.gpus.count != 1 or not facts.is_use_judged:
        return None
    percent, peak_gb = float(facts.gpus.avg_util[0]), float(facts.gpus.peak_mem_gb[0])
    fits = (
        peak_gb <= limits.memory_fill_fraction * smaller.memory_gb and percent <= limits.target_percent * smaller.share
    )
    if not fits or facts.record.state != "COMPLETED":
        return None
    now = requested_shape(facts)
    wanted = _with_host_share(facts, replace(now, partition=smaller.partition), host)
    if wanted is None:
        return None
    evidence = {
        "gpus": 1,
        "avg_util_percent": percent,
        "peak_memory_gb": peak_gb,
        "smaller_memory_gb": smaller.memory_gb,
        "smaller_share_fraction": smaller.share,
        "recommended_gpus": 1,
    }
    return _advice(RecommendationKind.GPUS, "smaller_gpu", evidence, facts, wanted, gpu_type=smaller.gres)


def _gpus_per_node(facts: JobFacts, now: Shape) -> int:
    return facts.partition.node.gpus if facts.partition else math.ceil(now.gpus / now.nodes)


def _counts(facts: JobFacts, now: Shape, need: GpuNeed) -> tuple[int, ...]:
    """The numbers of GPUs that the work can use, the fewest first: the hosts of few may be too small for it."""
    per_node = _gpus_per_node(facts, now)
    # One idle GPU is a finding to examine, not a reason for another size.
    is_proven = need.is_proven_count and need.gpus <= min(per_node, now.gpus - 2)
    counts = countable(need.gpus, now.gpus, per_node)
    return (need.gpus, *counts) if is_proven or need.basis == "own_scaling" else counts


def _with_gpus(facts: JobFacts, now: Shape, gpus: int, need: GpuNeed, host: HostNeed, limits: Limits) -> Shape | None:
    """`now` with this many GPUs, part of a node or whole nodes; None where the work would not fit on the hosts."""
    partition, per_node = facts.partition, _gpus_per_node(facts, now)
    name = now.partition
    if partition and partition.is_exclusive and gpus < per_node:
        if partition.shared_twin is None:
            gpus = min(per_node, now.gpus)
        else:
            name = partition.shared_twin
    gpus = min(gpus, now.gpus)
    nodes = min(math.ceil(gpus / per_node), now.nodes)
    walltime_s = now.walltime_s
    if need.basis == "own_scaling" and walltime_s and not is_trial(facts.record.job_name):
        walltime_s = max(walltime_s, limit_with_headroom_s(float(need.evidence["run_s"]), limits))
    shape = replace(
        now,
        nodes=nodes,
        gpus=gpus,
        ntasks=_tasks(facts, now, gpus, nodes, host.ranks if need.basis in ("active_gpus", "gpu_memory") else 0),
        partition=name,
        walltime_s=walltime_s,
        is_exclusive=now.is_exclusive and gpus >= per_node,
    )
    return _with_host_share(facts, shape, host)


def _tasks(facts: JobFacts, now: Shape, gpus: int, nodes: int, ranks: int) -> int | None:
    """Tasks for fewer GPUs: one a GPU, or all the `ranks` at work that share them; a launcher stays one per node."""
    if not now.ntasks:
        return None
    per_node = now.ntasks / now.nodes
    busiest_node = int(np.max(np.bincount(facts.gpus.node_index, weights=facts.did_work)))
    if per_node < busiest_node and now.ntasks == now.nodes:
        return nodes
    return min(now.ntasks, max(gpus, ranks))


def _with_host_share(facts: JobFacts, shape: Shape, host: HostNeed) -> Shape | None:
    """The cores and host memory that come with the GPUs, never more than before and never less than was used.

    None where the memory or the cores do not fit on the nodes.
    """
    now, partition = requested_shape(facts), partition_of(facts.record.cluster, shape.partition)
    share = shape.gpus / now.gpus
    cores, memory_gb = now.cores, now.memory_gb
    if cores:
        fitting = shape.gpus * partition.node.cores_per_gpu if partition else math.ceil(cores * share)
        cores = min(cores, max(fitting, host.cores or 0, shape.ntasks or 0))
    if memory_gb:
        share_gb = shape.gpus * partition.node.host_memory_share_gb if partition else math.ceil(memory_gb * share)
        memory_gb = min(memory_gb, max(share_gb, host.memory_gb(shape.nodes) or 0.0))
        if partition and memory_gb > shape.nodes * partition.node.host_memory_gb:
            return None
    fitted = replace(shape, cores=cores, memory_gb=memory_gb)
    if partition is None or not cores or (rounded(fitted).cores or 0) <= shape.nodes * partition.node.cores:
        return fitted
    tasks = math.ceil((shape.ntasks or shape.nodes) / shape.nodes)
    most = partition.node.cores // tasks * (shape.ntasks or shape.nodes)
    return replace(fitted, cores=most) if most >= max(host.cores or 0, 1) else None


def _fitting_host(
    facts: JobFacts, codes: frozenset[FindingCode], host: HostNeed, limits: Limits, past: Sequence[ComparableRun]
) -> Recommendation | None:
    """Fewer cores, less host memory, or both, where they alone raise the bill of a shared partition."""
    fitting = fitting_host(facts, limits)
    if fitting is None or FindingCode.CORES_OR_MEMORY_BEYOND_SHARE not in codes:
        return None
    now = requested_shape(facts)
    memory_gb = now.memory_gb
    if fitting.memory_gb is not None and memory_gb:
        memory_gb = min(memory_gb, max(fitting.memory_gb, host.memory_gb(now.nodes) or 0.0))
    cores = now.cores if fitting.cores is None else max(fitting.cores, min(host.cores or 0, now.cores or 0))
    evidence: dict[str, float | int] = {"headroom_factor": limits.headroom_factor}
    if fitting.memory_gb is not None:
        evidence |= {
            "memory_gb": facts.held.memory_gb,
            "peak_memory_gb": fitting.peak_memory_gb,
            "recommended_memory_gb": memory_gb or fitting.memory_gb,
        }
        past_gb = highest_host_peak_gb(facts.allocated_gpus, past) * now.nodes
        if past_gb > fitting.peak_memory_gb:
            evidence["own_runs_peak_gb"] = past_gb
    if fitting.cores is not None:
        busy = own_busy_cores(facts, past).get("own_runs_busy_cores", fitting.busy_cores)
        evidence |= {"cores": facts.held.cores, "busy_cores": busy, "recommended_cores": cores or fitting.cores}
    kind = RecommendationKind.CORES if fitting.memory_gb is None else RecommendationKind.HOST_MEMORY
    basis = "busy_cores" if fitting.memory_gb is None else "peak_memory" if fitting.cores is None else "host_share"
    return _advice(kind, basis, evidence, facts, replace(now, cores=cores, memory_gb=memory_gb))


def _more_host_memory(facts: JobFacts, limits: Limits) -> Recommendation | None:
    """After host memory ran out: all that comes with the GPUs at no extra cost, else 50 % more.

    Nothing else is changed before that is fixed. More than the share may raise the bill, and the advice states whether
    it does: memory is then given in whole billed slices.
    """
    now, partition = requested_shape(facts), facts.partition
    if partition is None or not now.memory_gb or not now.gpus:
        return None
    whole_gb = now.nodes * partition.node.host_memory_gb
    share_gb = whole_gb if facts.is_exclusive else min(now.gpus * partition.node.host_memory_share_gb, whole_gb)
    basis, wanted_gb = "out_of_memory", share_gb
    if share_gb <= now.memory_gb:
        step_gb = (partition.price.memory_gb_per_slice if partition.price else None) or 1.0
        more_gb = math.ceil(limits.more_factor * now.memory_gb / step_gb) * step_gb
        basis, wanted_gb = "more_memory", min(more_gb, whole_gb)
    if wanted_gb <= now.memory_gb:
        return None
    wanted = replace(now, memory_gb=wanted_gb)
    later = bill(partition, wanted, facts.elapsed_s)
    evidence = {
        "memory_gb": now.memory_gb,
        "recommended_memory_gb": wanted_gb,
        "share_gb": share_gb,
        "raises_bill": int(later is not None and later > (facts.gpu_hours or 0.0)),
    }
    return _advice(RecommendationKind.HOST_MEMORY, basis, evidence, facts, wanted)


def _shorter_walltime(
    facts: JobFacts,
    codes: frozenset[FindingCode],
    resized: Recommendation | None,
    limits: Limits,
    past: Sequence[ComparableRun],
) -> Recommendation | None:
    """A time limit close to the run, or to the longer run on fewer, busier GPUs."""
    requested_s = facts.record.walltime_requested_s
    if requested_s is None or FindingCode.WALLTIME_OVERREQUEST not in codes:
        return None
    longest_s = longest_run_s(facts.elapsed_s, facts.allocated_gpus, past)
    run_s = max(run_seconds_after(facts, resized, limits), longest_s * slower_factor(facts, resized))
    if resized is not None and resized.basis == "own_scaling":
        run_s = longest_run_s(run_s, resized.wanted.gpus, past)
    walltime_s = limit_with_headroom_s(run_s, limits)
    if walltime_s >= requested_s:
        return None
    evidence = {
        "walltime_requested_s": requested_s,
        "walltime_used_s": facts.elapsed_s,
        "longest_run_s": longest_s,
        "recommended_walltime_s": walltime_s,
        "headroom_factor": limits.headroom_factor,
    }
    if resized is not None and run_s > longest_s:
        evidence |= {"allowed_run_s": run_s, "recommended_gpus": resized.wanted.gpus}
    basis = "own_runs" if longest_s > facts.elapsed_s else "run_time"
    before = resized.wanted if resized else requested_shape(facts)
    return _advice(RecommendationKind.WALLTIME, basis, evidence, facts, replace(before, walltime_s=walltime_s), resized)


def slower_factor(facts: JobFacts, resized: Recommendation | None) -> float:
    """How many times as long the next run may take: fewer GPUs for work that uses them all little are a trial."""
    if resized is None or resized.basis != "overscaling":
        return 1.0
    return facts.allocated_gpus / resized.wanted.gpus


def _longer_walltime(
    facts: JobFacts,
    found: tuple[Finding, ...],
    resized: Recommendation | None,
    limits: Limits,
    past: Sequence[ComparableRun],
) -> Recommendation | None:
    """More time for a run that worked until its limit: what the user's own runs took, else 50 % more."""
    requested_s, partition = facts.record.walltime_requested_s, facts.partition
    ended = next((finding for finding in found if finding.code is FindingCode.TIMEOUT), None)
    if ended is None or ended.evidence.get("pattern") != "busy" or not requested_s or has_chosen_limit(facts):
        return None
    longest_s = longest_run_s(0.0, facts.allocated_gpus, past)
    is_known = longest_s > requested_s
    run_s = longest_s if is_known else limits.more_factor * requested_s / limits.headroom_factor
    walltime_s = limit_with_headroom_s(run_s, limits)
    if partition and partition.walltime_max_s:
        walltime_s = min(walltime_s, partition.walltime_max_s)
    if walltime_s <= requested_s:
        return None
    evidence = {"walltime_requested_s": requested_s, "longest_run_s": longest_s, "recommended_walltime_s": walltime_s}
    basis = "own_longer_runs" if is_known else "more_time"
    before = resized.wanted if resized else requested_shape(facts)
    return _advice(RecommendationKind.WALLTIME, basis, evidence, facts, replace(before, walltime_s=walltime_s), resized)


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


def _advice(
    kind: RecommendationKind,
    basis: str,
    evidence: Mapping[str, float | int],
    facts: JobFacts,
    wanted: Shape,
    before: Recommendation | None = None,
    gpu_type: str = "",
) -> Recommendation | None:
    """The advice as it is printed; None where it would not change what the run was allocated.

    With `before` only what goes beyond that advice is a separate change.
    """
    if before is not None and before.basis == "smaller_gpu" and facts.partition and facts.partition.smaller_gpu:
        gpu_type = facts.partition.smaller_gpu.gres
    bounded = admitted(facts, wanted)
    if bounded is None:
        return None
    printed = next_request(facts, bounded, before.changes if before else (), gpu_type)
    if printed is None or printed.shape == requested_shape(facts) or not (printed.changes or printed.block):
        return None
    target = partition_of(facts.record.cluster, printed.shape.partition)
    if target is not None and printed.shape.gpus > printed.shape.nodes * target.node.gpus:
        # The recorded allocation is more than its nodes have.
        return None
    return Recommendation(kind, basis, evidence, printed.shape, printed.changes, printed.block)
