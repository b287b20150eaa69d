"""What a finding is: a code, a confidence and evidence in numbers. Prose lives in `reports.wording`."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class FindingCode(StrEnum):
    """Every root cause that this version can find."""

    NO_GPU_USE = "no_gpu_use"
    PARALLELISM_MISMATCH = "parallelism_mismatch"
    IDLE_GPUS = "idle_gpus"
    EXCLUSIVE_NODE_UNDERUSED = "exclusive_node_underused"
    LOAD_IMBALANCE = "load_imbalance"
    OVERSCALING = "overscaling"
    CPU_BOTTLENECK = "cpu_bottleneck"
    HOST_OVERSUBSCRIPTION = "host_oversubscription"
    IO_OR_SYNC_STALL = "io_or_sync_stall"
    LATE_START = "late_start"
    IDLE_TAIL = "idle_tail"
    BUSY_BUT_WAITING = "busy_but_waiting"
    LOSS_IS_NAN = "loss_is_nan"
    STEP_PAUSES = "step_pauses"
    KERNEL_TUNING = "kernel_tuning"
    THROTTLED = "throttled"
    GPU_MEMORY_PRESSURE = "gpu_memory_pressure"
    GPU_OUT_OF_MEMORY = "gpu_out_of_memory"
    HOST_OUT_OF_MEMORY = "host_out_of_memory"
    CORES_OR_MEMORY_BEYOND_SHARE = "cores_or_memory_beyond_share"
    TIMEOUT = "timeout"
    WALLTIME_OVERREQUEST = "walltime_overrequest"
    LOW_USE_UNEXPLAINED = "low_use_unexplained"


COUNTED = frozenset(
    {
        FindingCode.NO_GPU_USE,
        FindingCode.IDLE_GPUS,
        FindingCode.EXCLUSIVE_NODE_UNDERUSED,
        FindingCode.LATE_START,
        FindingCode.IDLE_TAIL,
        FindingCode.LOSS_IS_NAN,
        FindingCode.STEP_PAUSES,
        FindingCode.THROTTLED,
        FindingCode.GPU_MEMORY_PRESSURE,
        FindingCode.HOST_OUT_OF_MEMORY,
        FindingCode.CORES_OR_MEMORY_BEYOND_SHARE,
        FindingCode.TIMEOUT,
        FindingCode.WALLTIME_OVERREQUEST,
    }
)
"""What was counted or reported by Slurm is a fact: people read it without a percentage."""

MEMORY_CODES = (FindingCode.HOST_OUT_OF_MEMORY.value, FindingCode.GPU_OUT_OF_MEMORY.value)

STOPPED = "flat_s"
"""Evidence of a step counter that stood still: what is inferred without it is counted with it."""

Evidence = Mapping[str, float | int | str]


@dataclass(frozen=True)
class Finding:
    """One root cause that holds; evidence names carry their units.

    `confidence` is 0..1: for an inference how often such a finding is right, for a fact (`is_fact`) the share of the
    run that it was counted over.
    """

    code: FindingCode
    confidence: float
    evidence: Evidence

    @property
    def is_fact(self) -> bool:
        return self.code in COUNTED or STOPPED in self.evidence


def code_list(codes: Iterable[str]) -> str:
    """Codes as one text column, each between blanks: searching for " timeout " finds exactly that code.

    >>> code_list([FindingCode.IDLE_GPUS, FindingCode.TIMEOUT]), code_list([])
    (' idle_gpus timeout ', '')
    """
    joined = " ".join(codes)
    return f" {joined} " if joined else ""


# How often inferences are right, at their threshold and far past it. On 174 runs that two readers wrote without knowing
# the rules (`cases/noisy/examiner/` and `inspector/`, first judged on 2026-11-22) 112 of 114 were. Other runs will
# be harder, so less is stated at the threshold; `make score` holds both to within 0.1.
RIGHT_AT_THRESHOLD = 0.92
RIGHT_FAR_PAST_IT = 0.98


def confidence(coverage_fraction: float, *margins: float) -> float:
    """How often such a finding is right, 0..1: least on a threshold, most where every margin is full.

    A margin is the distance past its threshold as a share of the distance there could be, 0..1. Their geometric
    mean lets each one raise the result, and keeps it low while any of them is at its threshold. What was measured
    in part is scaled down by its coverage.

    >>> round(confidence(1.0, 1.0, 0.0), 3), round(confidence(1.0, 1.0), 3), round(confidence(0.5, 1.0), 3)
    (0.92, 0.98, 0.49)
    """
    held = [min(max(margin, 0.0), 1.0) for margin in margins]
    strength = math.prod(held) ** (1 / len(held))
    certainty = RIGHT_AT_THRESHOLD + (RIGHT_FAR_PAST_IT - RIGHT_AT_THRESHOLD) * strength
    return certainty * counted(coverage_fraction)


def counted(coverage_fraction: float) -> float:
    """The confidence of a fact: the share of the run over which it was counted, 0..1."""
    return min(max(coverage_fraction, 0.0), 1.0)


def margin_below(value: float, threshold: float) -> float:
    """How far `value` lies below `threshold`, as a share of the way to zero.

    >>> margin_below(10.0, 40.0)
    0.75
    """
    return (threshold - value) / threshold


def margin_above(value: float, threshold: float, highest: float = 1.0) -> float:
    """How far `value` lies above `threshold`, as a share of the way to `highest`.

    >>> margin_above(0.75, 0.5)
    0.5
    """
    return (value - threshold) / (highest - threshold)


def margin_within(value: float, lowest: float, highest: float) -> float:
    """1 in the middle of a band, 0 on its edges, negative outside.

    >>> margin_within(50.0, 40.0, 80.0)
    0.5
    """
    half_band = (highest - lowest) / 2
    return 1 - abs(value - lowest - half_band) / half_band
