"""How many GPUs the work of a run needs: what worked, what its memory needs, and a count that the work can use."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from analysis.causes.progress import throughput_of
from analysis.comparable import ComparableRun, Throughput, doubts, own_scaling
from analysis.facts import JobFacts, divide
from analysis.findings import FindingCode
from analysis.thresholds import LIMITS, Limits

FEWER_GPUS = frozenset(
    {
        FindingCode.PARALLELISM_MISMATCH,
        FindingCode.IDLE_GPUS,
        FindingCode.NO_GPU_USE,
        FindingCode.EXCLUSIVE_NODE_UNDERUSED,
    }
)


@dataclass(frozen=True)
class GpuNeed:
    """What decides the number of GPUs (`Recommendation.basis`), the number, and the numbers behind it.

    `is_proven_count`: as many ranks as GPUs did the work, so it runs on that count, even where that is unusual.
    """

    basis: str
    gpus: int
    evidence: Mapping[str, float | int]
    is_proven_count: bool = False


def gpu_need(
    facts: JobFacts, codes: frozenset[FindingCode], limits: Limits = LIMITS, past: Sequence[ComparableRun] = ()
) -> GpuNeed | None:
    """The GPUs that the next run needs; None where nothing determines their number.

    Idle GPUs are counted; the number that even, low use would fit on is an estimate, which the user's own runs on other
    numbers of GPUs override. Below Efficient those decide, whatever the cause.
    """
    # For a run that lacked GPU memory, fewer GPUs are never suggested.
    if FindingCode.GPU_OUT_OF_MEMORY in codes or not facts.gpus.count:
        return None
    if _measured_time_fraction(facts) < limits.resize_time_fraction:
        return None
    if FindingCode.NO_GPU_USE in codes and not _unmeasured(facts):
        return GpuNeed("no_gpu_use", 1, {"gpus": facts.allocated_gpus})
    is_low = (facts.avg_gpu_util or 0.0) < limits.efficient_percent
    this = compared_run(facts)
    scaling = own_scaling(this, past, limits) if is_low else None
    if scaling and not codes & FEWER_GPUS and facts.record.state == "COMPLETED":
        numbers: dict[str, float | int] = {
            "gpus": facts.allocated_gpus,
            "scaling_gpus": scaling.gpus,
            "run_s": scaling.run_s,
            "elapsed_s": facts.elapsed_s,
        }
        by_rate = {"by_throughput": 1} if scaling.unit else {}
        return GpuNeed("own_scaling", scaling.gpus, numbers | by_rate | doubts(this, scaling))
    if codes & FEWER_GPUS:
        return _by_work(facts, "active_gpus", limits)
    # Work that was ended by its time limit needs more time first.
    is_overscaled = FindingCode.OVERSCALING in codes and facts.record.state != "TIMEOUT"
    return _by_work(facts, "overscaling", limits) if is_overscaled else None


def compared_run(facts: JobFacts) -> ComparableRun:
    """This run as its work's other runs are compared with it."""
    speed = throughput_of(facts)
    measured = Throughput(speed.unit.value, speed.per_s) if speed is not None and speed.per_s else None
    return ComparableRun(facts.allocated_gpus, facts.elapsed_s, throughput=measured)


def _measured_time_fraction(facts: JobFacts) -> float:
    """How much of the run the GPUs that were measured were measured for, 0..1."""
    if facts.elapsed_s <= 0:
        return 0.0
    return min(float(np.mean(facts.measured_s)) / facts.elapsed_s, 1.0)


def _by_work(facts: JobFacts, basis: str, limits: Limits) -> GpuNeed:
    """The largest of what was active, what the work fills at the target, and what memory needs; then countable."""
    active, filled, memory = active_gpus(facts, limits), gpus_for_work(facts, limits), gpus_for_memory(facts, limits)
    least = max(active, filled, memory, 1)
    ranks, unmeasured = float(np.sum(facts.hosts.ranks)), _unmeasured(facts)
    evidence: dict[str, float | int] = {
        "gpus": facts.allocated_gpus,
        "active_gpus": active,
        "busy_gpus": filled,
        "memory_gpus": memory,
        "needed_gpus": least,
        "peak_memory_total_gb": float(np.nansum(facts.gpus.peak_mem_gb[facts.did_work])),
        "avg_util_percent": facts.avg_gpu_util or 0.0,
        "target_percent": limits.target_percent,
        "threshold_percent": limits.active_gpu_percent,
    }
    if unmeasured:
        evidence["unmeasured_gpus"] = unmeasured
    if memory == least > max(active, filled, 1):
        basis = "gpu_memory"
    return GpuNeed(basis, least, evidence, is_proven_count=ranks == least == active)


def active_gpus(facts: JobFacts, limits: Limits = LIMITS) -> int:
    """GPUs with sustained use: above `active_gpu_percent` for half of the run, or on average.

    The mean counts too, so that a GPU with strong bursts is never removed. A GPU that was not measured counts as
    active, because it may have worked.
    """
    histogram_s = facts.gpus.histogram_s
    above = int(limits.active_gpu_percent) + 1
    busy_fraction = divide(histogram_s[:, above:].sum(axis=1), histogram_s.sum(axis=1))
    is_sustained = busy_fraction >= limits.sustained_run_fraction
    is_active = is_sustained | (facts.gpus.avg_util > limits.active_gpu_percent)
    return int(np.sum(is_active)) + _unmeasured(facts)


def gpus_for_work(facts: JobFacts, limits: Limits = LIMITS) -> int:
    """GPUs that take over the use of all that worked: work is conserved.

    Each is filled to `target_percent`, or to what the busiest GPU of this run showed that one can be filled to.
    """
    use_percent = facts.gpus.avg_util[facts.did_work & (facts.gpus.avg_util > limits.nearly_idle_percent)]
    if not use_percent.size:
        return _unmeasured(facts)
    filled_percent = max(limits.target_percent, float(np.max(use_percent)))
    return math.ceil(round(float(np.sum(use_percent)) / filled_percent, 6)) + _unmeasured(facts)


def gpus_for_memory(facts: JobFacts, limits: Limits = LIMITS) -> int:
    """GPUs that hold the peaks of those that worked with 10 % reserve; 0 where no capacity is known.

    Never more than those that held them in this run. Memory on an idle GPU does not count: some libraries reserve
    memory on all GPUs. A GPU that worked and whose memory was not measured counts as one needed GPU.
    """
    capacities_gb = facts.memory_capacity_gb[~np.isnan(facts.memory_capacity_gb)]
    if not capacities_gb.size:
        return 0
    peak_gb = facts.gpus.peak_mem_gb[facts.did_work]
    usable_gb = limits.memory_fill_fraction * float(np.min(capacities_gb))
    is_known = ~np.isnan(peak_gb)
    holding = min(math.ceil(float(np.sum(peak_gb[is_known])) / usable_gb), int(np.sum(is_known)))
    return holding + int(np.sum(~is_known)) + _unmeasured(facts)


def countable(needed: int, now: int, per_node: int) -> tuple[int, ...]:
    """The counts from `needed` up that work of `now` GPUs divides into, ascending: divisors and powers of two.

    Above one node of `per_node` GPUs whole nodes are counted. The last is `now`.

    >>> countable(3, 8, 8), countable(5, 6, 8), countable(9, 64, 8), countable(8191, 8192, 8)
    ((4, 8), (6,), (16, 32, 64), (8192,))
    """
    parts = [gpus for gpus in _dividing(now) if needed <= gpus <= min(per_node, now)]
    nodes = math.ceil(now / per_node)
    whole = [min(count * per_node, now) for count in _dividing(nodes) if needed <= count * per_node]
    return tuple(sorted({*parts, *whole, now}))


def _dividing(count: int) -> list[int]:
    """Divisors of a count and powers of two up to it."""
    return [number for number in range(1, count + 1) if count % number == 0 or number & (number - 1) == 0]


def _unmeasured(facts: JobFacts) -> int:
    return max(facts.allocated_gpus - facts.gpus.count, 0)
