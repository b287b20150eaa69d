"""What an early word is about: a code, a confidence and evidence in numbers. Prose is in `reports.early`."""

from dataclasses import dataclass
from enum import StrEnum

from analysis.findings import Evidence


class EarlyCode(StrEnum):
    """Everything that may be said of a job that still runs."""

    ALL_GPUS_IDLE = "all_gpus_idle"
    CPU_ONLY = "cpu_only"
    SOME_GPUS_UNUSED = "some_gpus_unused"
    SPINNING = "spinning"
    GPU_MEMORY_FULL = "gpu_memory_full"
    HOST_MEMORY_FILLING = "host_memory_filling"
    LIMIT_TOO_SHORT = "limit_too_short"


@dataclass(frozen=True)
class EarlyFinding:
    """One thing that holds now; evidence names carry their units, `since_s` counts from the job's start.

    `confidence` is how often such words were right on runs to which the rules were not tuned. `is_fact`: it was
    counted, so people read it without a percentage.
    """

    code: EarlyCode
    confidence: float
    evidence: Evidence
    is_fact: bool = False
