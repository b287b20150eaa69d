"""What fixing a cause would save, so that the causes of one job can be put in order.

Each is the share of the job's billed time that would be saved, 0..1, from the finding's own evidence; an estimate
for ranking only.
"""

from collections.abc import Callable, Mapping

from analysis.findings import Evidence, Finding, FindingCode
from analysis.thresholds import LIMITS, Limits

Numbers = Mapping[str, float]


def expected_gain(finding: Finding, limits: Limits = LIMITS) -> float:
    """The share that would be saved, times the confidence of the finding."""
    return lost_fraction(finding.code, finding.evidence, limits) * finding.confidence


def lost_fraction(code: FindingCode, evidence: Evidence, limits: Limits = LIMITS) -> float:
    """The share of the billed time that this cause took, 0..1.

    >>> lost_fraction(FindingCode.PARALLELISM_MISMATCH, {"gpus": 8, "active_gpus": 2})
    0.75
    """
    numbers = {name: float(value) for name, value in evidence.items() if not isinstance(value, str)}
    return min(max(LOST[code](numbers, limits), 0.0), 1.0)


def _inactive_gpus(seen: Numbers, _: Limits) -> float:
    return 1 - seen["active_gpus"] / seen["gpus"]


def _below_target(name: str) -> Callable[[Numbers, Limits], float]:
    """The difference to the use that fewer, or better supplied, GPUs would reach."""
    return lambda seen, limits: 1 - seen[name] / limits.target_percent


def _share_of(name: str) -> Callable[[Numbers, Limits], float]:
    return lambda seen, _: seen[name]


def _power_left(seen: Numbers, _: Limits) -> float:
    """The power that was not drawn, or the share of the run without progress where that is known."""
    return seen["flat_fraction"] if "flat_fraction" in seen else 1 - seen["power_fraction"]


def _dipped(seen: Numbers, _: Limits) -> float:
    return seen["paused_fraction"] * (1 - seen["paused_percent"] / max(seen["working_percent"], 1.0))


def _fixed(share: float) -> Callable[[Numbers, Limits], float]:
    return lambda seen, limits: share


LOST: Mapping[FindingCode, Callable[[Numbers, Limits], float]] = {
    FindingCode.NO_GPU_USE: _share_of("idle_fraction"),
    FindingCode.PARALLELISM_MISMATCH: _inactive_gpus,
    FindingCode.IDLE_GPUS: lambda seen, _: seen["idle_gpus"] / seen["gpus"] * seen["idle_fraction"],
    FindingCode.EXCLUSIVE_NODE_UNDERUSED: _inactive_gpus,
    FindingCode.LOAD_IMBALANCE: lambda seen, _: 1 - seen["mean_util_percent"] / seen["highest_util_percent"],
    FindingCode.OVERSCALING: _below_target("avg_util_percent"),
    FindingCode.CPU_BOTTLENECK: _below_target("gpu_util_percent"),
    FindingCode.HOST_OVERSUBSCRIPTION: _share_of("cpu_pressure_fraction"),
    FindingCode.IO_OR_SYNC_STALL: _share_of("lost_fraction"),
    FindingCode.LATE_START: _share_of("idle_fraction"),
    FindingCode.IDLE_TAIL: _share_of("idle_fraction"),
    FindingCode.BUSY_BUT_WAITING: _power_left,
    FindingCode.LOSS_IS_NAN: _share_of("nan_fraction"),
    FindingCode.STEP_PAUSES: _dipped,
    FindingCode.KERNEL_TUNING: lambda seen, limits: 1 - seen["busy_percent"] / limits.tuning_busy_percent_max,
    FindingCode.THROTTLED: _share_of("throttled_fraction"),
    # Nearly full memory costs nothing by itself; a run that failed of memory has to be run again.
    FindingCode.GPU_MEMORY_PRESSURE: _fixed(0.0),
    FindingCode.GPU_OUT_OF_MEMORY: _fixed(1.0),
    FindingCode.HOST_OUT_OF_MEMORY: _fixed(1.0),
    FindingCode.CORES_OR_MEMORY_BEYOND_SHARE: lambda seen, _: 1 - seen["needed_slices"] / seen["billed_slices"],
    # Between nothing, with a checkpoint just before the end, and everything, without any.
    FindingCode.TIMEOUT: _fixed(0.5),
    # Time that was requested and not used is not billed.
    FindingCode.WALLTIME_OVERREQUEST: _fixed(0.0),
    # A run that failed without a visible cause has no measured use to save.
    FindingCode.LOW_USE_UNEXPLAINED: lambda seen, limits: (
        1 - seen["avg_util_percent"] / limits.target_percent if "avg_util_percent" in seen else 0.0
    ),
}
