"""What a finding is: a code, a confidence and evidence in numbers. Prose lives in `reports.wording`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


class FindingCode(StrEnum):
    """Every root cause this version can name."""

    NO_GPU_USE = "no_gpu_use"
    PARALLELISM_MISMATCH = "parallelism_mismatch"
    IDLE_GPUS = "idle_gpus"
    CPU_BOTTLENECK = "cpu_bottleneck"
    OVERSCALING = "overscaling"
    IO_OR_SYNC_STALL = "io_or_sync_stall"
    HOST_OUT_OF_MEMORY = "host_out_of_memory"
    TIMEOUT = "timeout"
    WALLTIME_OVERREQUEST = "walltime_overrequest"


Evidence = Mapping[str, float | int | str]


@dataclass(frozen=True)
class Finding:
    """One root cause that holds; evidence names carry their units."""

    code: FindingCode
    confidence: float
    evidence: Evidence


CONFIDENCE_AT_THRESHOLD = 0.5


def confidence(coverage_fraction: float, *margins: float) -> float:
    """How sure a finding is, 0..1: 0.5 on any threshold, 1 when every margin is full, scaled by coverage.

    A margin is the distance past its threshold as a share of the distance there could be, 0..1. Their geometric
    mean lets each one raise the answer, and holds it at 0.5 while any of them stands on its threshold.

    >>> confidence(1.0, 1.0, 0.0)
    0.5
    >>> confidence(0.5, 1.0)
    0.5
    """
    held = [min(max(margin, 0.0), 1.0) for margin in margins]
    strength = math.prod(held) ** (1 / len(held))
    certainty = CONFIDENCE_AT_THRESHOLD + (1 - CONFIDENCE_AT_THRESHOLD) * strength
    return certainty * min(max(coverage_fraction, 0.0), 1.0)


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
