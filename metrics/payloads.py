"""The `node-summary/1` payload, decoded and checked at the border; trusted inside.

A value that cannot be true rejects its record with the path of the value: the collector drops such values
itself and names them in `missing`, so a payload that still holds one is broken as a whole.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from typing import Annotated

import msgspec
from msgspec import Meta

from collector.wire import TIMELINE_POINTS_MAX

TEXT_LENGTH_MAX = 300
ERRORS_MAX = 50
# Rounding of the sampler: a sum of seconds may pass its whole by this share and one interval.
SECONDS_SLACK_FRACTION = 0.02
# A peak is read at another instant than the capacity, in another unit: allow rounding only.
CAPACITY_SLACK_FRACTION = 0.005

# The same characters as in jobs.records, which this package must not know.
UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

Slug = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9_][A-Za-z0-9._@+-]{0,63}\Z")]
NodeName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9.-]{0,63}\Z")]
Bus = Annotated[str, Meta(pattern=r"\A[0-9A-Fa-f:.]{0,16}\Z")]
Percent = Annotated[float, Meta(ge=0, le=100)]
Fraction = Annotated[float, Meta(ge=0, le=1)]
Seconds = Annotated[float, Meta(ge=0, le=1e9)]
Gigabytes = Annotated[float, Meta(ge=0, le=60_000)]
Reading = Annotated[float, Meta(ge=0, le=1e15)]
Count = Annotated[int, Meta(ge=0, le=10**9)]
Bin = Annotated[int, Meta(ge=0, le=100)]
Instant = Annotated[datetime, Meta(tz=True)]
Problem = tuple[str, str]


class TimelinePayload(msgspec.Struct, frozen=True, kw_only=True):
    """Busy percent and memory by bucket of `step_s` from the node's start; null is a gap."""

    step_s: Annotated[float, Meta(gt=0, le=1e7)]
    util: Annotated[tuple[Percent | None, ...], Meta(max_length=TIMELINE_POINTS_MAX)] = ()
    mem_gb: Annotated[tuple[Gigabytes | None, ...], Meta(max_length=TIMELINE_POINTS_MAX)] = ()


class GpuPayload(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU of one node over the job; absent numbers are named in `missing` with the reason."""

    gpu_id: Annotated[int, Meta(ge=0, le=1023)]
    avg_util: Percent | None = None
    p95_util: Percent | None = None
    peak_mem_gb: Gigabytes | None = None
    module_id: Annotated[int, Meta(ge=0, le=1023)] | None = None
    pci_bus: Bus | None = None
    samples: Count | None = None
    measured_s: Seconds | None = None
    active_s: Seconds | None = None
    idle_s: Seconds | None = None
    avg_mem_gb: Gigabytes | None = None
    mem_total_gb: Gigabytes | None = None
    util_histogram_s: dict[Bin, Seconds] | None = None
    timeline: TimelinePayload | None = None
    gfx_clock_mhz: Reading | None = None
    mem_clock_mhz: Reading | None = None
    power_avg_w: Reading | None = None
    power_peak_w: Reading | None = None
    power_cap_w: Reading | None = None
    energy_j: Reading | None = None
    temperature_peak_c: Reading | None = None
    pcie_bandwidth_mb_s: Reading | None = None
    throttled_s: Seconds | None = None
    missing: dict[str, str] = {}

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "missing", printable_map(self.missing))


class CpuPayload(msgspec.Struct, frozen=True, kw_only=True):
    """The host side of one node: physical cores, fractions of the allocated cores, pressure-stall seconds."""

    cores_allocated: Count | None = None
    busy_cores_avg: Annotated[float, Meta(ge=0, le=4096)] | None = None
    user_fraction: Fraction | None = None
    system_fraction: Fraction | None = None
    iowait_fraction: Fraction | None = None
    idle_fraction: Fraction | None = None
    ranks: Count | None = None
    threads_per_rank: Annotated[float, Meta(ge=0, le=1e6)] | None = None
    peak_memory_gb: Gigabytes | None = None
    memory_limit_gb: Gigabytes | None = None
    oom_kills: Count | None = None
    pressure_cpu_s: Seconds | None = None
    pressure_memory_s: Seconds | None = None
    pressure_io_s: Seconds | None = None
    missing: dict[str, str] = {}

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "missing", printable_map(self.missing))


class NodePayload(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one node says about one job run; a later `sequence` replaces an earlier one."""

    schema: str
    cluster: Slug
    job_id: Annotated[int, Meta(ge=1, le=2**53)]
    node: NodeName
    gpus: Annotated[tuple[GpuPayload, ...], Meta(max_length=64)]
    attempt: Annotated[int, Meta(ge=0, le=10**6)] = 0
    sequence: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    final: bool = True
    started_at: Instant | None = None
    ended_at: Instant | None = None
    interval_s: Annotated[float, Meta(gt=0, le=1e6)] | None = None
    collector_version: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9.+-]{0,32}\Z")] = ""
    cpu: CpuPayload | None = None
    errors: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        cleaned = tuple(printable(text) for text in self.errors[:ERRORS_MAX])
        msgspec.structs.force_setattr(self, "errors", cleaned)


def printable(text: str) -> str:
    """Free text cut to length, control characters replaced by U+FFFD."""
    return UNPRINTABLE.sub("\ufffd", text[:TEXT_LENGTH_MAX])


def printable_map(reasons: dict[str, str]) -> dict[str, str]:
    return {printable(name): printable(reason) for name, reason in list(reasons.items())[:ERRORS_MAX]}


def problems(payload: NodePayload) -> list[Problem]:
    """What no single field can tell: `(path, message)` of each contradiction, empty when sound."""
    found: list[Problem] = []
    if payload.started_at and payload.ended_at and payload.ended_at < payload.started_at:
        found.append(("ended_at", "lies before started_at"))
    seen: set[int] = set()
    for index, gpu in enumerate(payload.gpus):
        if gpu.gpu_id in seen:
            found.append((f"gpus[{index}].gpu_id", f"GPU {gpu.gpu_id} is already in this summary"))
        seen.add(gpu.gpu_id)
        found += [(f"gpus[{index}].{path}", message) for path, message in _gpu_problems(gpu, payload.interval_s or 0)]
    return found


def _gpu_problems(gpu: GpuPayload, interval_s: float) -> Iterator[Problem]:
    if gpu.avg_util is None and "avg_util" not in gpu.missing:
        yield "avg_util", "required, or a reason for it in missing"
    yield from _memory_problems(gpu)
    yield from _seconds_problems(gpu, interval_s)
    timeline = gpu.timeline
    if timeline and timeline.util and timeline.mem_gb and len(timeline.util) != len(timeline.mem_gb):
        yield "timeline.mem_gb", f"has {len(timeline.mem_gb)} points where util has {len(timeline.util)}"


def _memory_problems(gpu: GpuPayload) -> Iterator[Problem]:
    if gpu.mem_total_gb is None:
        return
    highest = gpu.mem_total_gb * (1 + CAPACITY_SLACK_FRACTION)
    for name in ("peak_mem_gb", "avg_mem_gb"):
        value = getattr(gpu, name)
        if value is not None and value > highest:
            yield name, f"{value} GB is above the capacity of {gpu.mem_total_gb} GB"
    for index, value in enumerate(gpu.timeline.mem_gb if gpu.timeline else ()):
        if value is not None and value > highest:
            yield f"timeline.mem_gb[{index}]", f"{value} GB is above the capacity of {gpu.mem_total_gb} GB"
            return


def _seconds_problems(gpu: GpuPayload, interval_s: float) -> Iterator[Problem]:
    if gpu.measured_s is None:
        return
    longest = gpu.measured_s * (1 + SECONDS_SLACK_FRACTION) + interval_s
    sums = {
        "active_s": (gpu.active_s or 0) + (gpu.idle_s or 0),
        "throttled_s": gpu.throttled_s or 0,
        "util_histogram_s": sum((gpu.util_histogram_s or {}).values()),
    }
    for name, total in sums.items():
        if total > longest:
            yield name, f"adds up to {total:g} s where only {gpu.measured_s:g} s were measured"
