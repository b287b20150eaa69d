"""What is read of a learning document of another site, and how it becomes a run without name.

Documents are those of `kaiku-learning/1`, or ASBA's `PerformanceFeedback`, which has the same members as far as it has
them. Who ran it is a number that is made while a file is read; names of people, projects and jobs are not kept.
"""

import re
from datetime import datetime
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from analysis.anonymous.bands import UNKNOWN, ProgramOf, Run, partition_type
from analysis.anonymous.lines import Code, Label

Name = Annotated[str, Meta(min_length=1, max_length=256)]
Percent = Annotated[float, Meta(ge=0, le=100)]
Hours = Annotated[float, Meta(ge=0, le=1e9)]
GPUS_MAX, SECONDS_MAX = 10**7, 10**9

DURATION = re.compile(r"(?:(\d{1,9})h)?(?:(\d{1,9})m)?(?:(\d{1,9}(?:\.\d{1,9})?)s)?")
"""How Go writes a duration of a second and more."""

NANOSECONDS = 1e9
"""A Go duration that is a number counts these."""


class Hardware(msgspec.Struct):
    gpu_name: Label | None = None
    gpus: Annotated[int, Meta(ge=0, le=GPUS_MAX)] | None = None
    is_exclusive: bool | None = None


class Execution(msgspec.Struct):
    end_time: datetime
    success: bool | None = None
    state: Annotated[str, Meta(max_length=64)] = ""
    hardware: Hardware = msgspec.field(default_factory=Hardware)
    execution_duration_s: Annotated[float, Meta(ge=0, le=SECONDS_MAX)] | None = None
    execution_duration: Annotated[str, Meta(max_length=64)] | Annotated[float, Meta(ge=0, le=1e18)] | None = None
    node_count: Annotated[int, Meta(ge=0, le=GPUS_MAX)] | None = None


class Metadata(msgspec.Struct):
    user_id: Name
    project_id: Name
    actual_execution: Execution
    job_name: Annotated[str, Meta(max_length=4096)] | None = None


class Gpu(msgspec.Struct):
    avg_util_percent: Percent | None = None


class Memory(msgspec.Struct):
    peak_gpu_mem_fraction: Annotated[float, Meta(ge=0, le=100)] | None = None


class Metrics(msgspec.Struct):
    gpu: Gpu = msgspec.field(default_factory=Gpu)
    memory: Memory = msgspec.field(default_factory=Memory)


class FoundCode(msgspec.Struct):
    code: Code


class Judged(msgspec.Struct):
    efficiency_class: Literal["EFFICIENT", "ACCEPTABLE", "INEFFICIENT", "WASTED", "UNKNOWN"] = "UNKNOWN"
    findings: list[FoundCode] = []


class Cost(msgspec.Struct):
    gpu_hours: Hours | None = None


class LearningDocument(msgspec.Struct):
    """One run; every other member is left out."""

    job_metadata: Metadata
    schema: Literal["kaiku-learning/1"] | None = None
    performance_metrics: Metrics = msgspec.field(default_factory=Metrics)
    judgement: Judged | None = None
    cost_analysis: Cost = msgspec.field(default_factory=Cost)


def run_of(document: LearningDocument, person: int, project: int, program_of: ProgramOf) -> Run:
    """The run without its names."""
    execution, judged = document.job_metadata.actual_execution, document.judgement or Judged()
    hours, hardware = run_time_h(execution), execution.hardware
    memory = document.performance_metrics.memory.peak_gpu_mem_fraction
    billed = document.cost_analysis.gpu_hours
    return Run(
        person=person,
        project=project,
        # Without a bill, what it had: only who has nearly all of a group depends on it.
        gpu_hours=billed if billed is not None else (hours or 0.0) * (hardware.gpus or execution.node_count or 1),
        program=program_of(document.job_metadata.job_name or "") or UNKNOWN,
        gpu=hardware.gpu_name or UNKNOWN,
        partition_type=partition_type(hardware.is_exclusive),
        gpus=hardware.gpus,
        run_time_h=hours,
        state=execution.state or ("COMPLETED" if execution.success else "FAILED"),
        efficiency_class=judged.efficiency_class,
        gpu_use_percent=document.performance_metrics.gpu.avg_util_percent,
        gpu_memory_percent=None if memory is None else 100 * memory,
        finding=judged.findings[0].code if judged.findings else "none",
    )


def run_time_h(execution: Execution) -> float | None:
    """The run time in hours; None where it is not known.

    >>> run_time_h(Execution(datetime(2026, 10, 1), execution_duration="2h30m0s"))
    2.5
    >>> run_time_h(Execution(datetime(2026, 10, 1), execution_duration=7.2e12)), run_time_h(Execution(datetime.max))
    (2.0, None)
    """
    if execution.execution_duration_s is not None:
        return execution.execution_duration_s / 3600
    if isinstance(execution.execution_duration, float):
        return execution.execution_duration / NANOSECONDS / 3600
    found = DURATION.fullmatch(execution.execution_duration or "")
    if not found or not found[0]:
        return None
    hours, minutes, seconds = (float(part or 0) for part in found.groups())
    return hours + minutes / 60 + seconds / 3600


def month_of(document: LearningDocument) -> str | None:
    """The month in which the run ended, None for a time that is no time of a run.

    >>> month_of(msgspec.convert({"job_metadata": {"user_id": "a", "project_id": "b", "actual_execution":
    ...     {"end_time": "2026-10-31T23:59:00Z"}}}, LearningDocument))
    '2026-10'
    """
    ended = document.job_metadata.actual_execution.end_time
    return f"{ended:%Y-%m}" if 2000 <= ended.year < 2100 else None
