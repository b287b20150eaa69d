"""The `node-summary/1` payload, decoded and checked at the border; trusted inside.

An impossible value is dropped and named in the `missing` of its GPU or host, as the collector itself does: the GPU's
other values and the node are kept. Wrong JSON types and a broken structure refuse the record.
"""

import re
from collections.abc import Collection
from datetime import datetime
from functools import lru_cache
from typing import Annotated

import msgspec
from msgspec import Meta

from metrics.own_run import NodeName, OwnRun, Slug
from metrics.possible import PREFIX, beyond, bounds_of, drop, in_utc, number, within
from wire.payloads import HISTOGRAM_BINS, TIMELINE_POINTS_MAX
from wire.safe_text import printable
from wire.times import impossible_times

TEXT_LENGTH_MAX = 300
ERRORS_MAX = 50
# Rounding of the sampler: a sum of seconds may exceed its whole by this share and one interval.
SECONDS_SLACK_FRACTION = 0.02
# A peak is read at another instant than the capacity, in another unit: allow rounding only.
CAPACITY_SLACK_FRACTION = 0.005

MEMORY_POINTS_MAX = TIMELINE_POINTS_MAX
"""A collector sends 60 (`collector.host`); as many as those of a GPU are accepted."""

PERCENT_MAX, SECONDS_MAX, GIGABYTES_MAX, STEP_MAX_S, INTERVAL_MAX_S = 100, 1e9, 60_000, 1e7, 1e6
STEP_MIN_S, CORES_MAX = 0.1, 4096

BUS = re.compile(r"\A[0-9A-Fa-f:.]{0,16}\Z")

# A collector names the other job that had a GPU of this one; it never gives the number of its own job.
OTHER_JOB = re.compile(r"\bjobs?(?:[\s_]*id)?[\s/:=#]*[0-9]+(?:\.[0-9]+)?", re.IGNORECASE)

Bus = Annotated[str, Meta(extra_json_schema={"pattern": BUS.pattern})]
Percent = Annotated[float, within(0, PERCENT_MAX)]
Fraction = Annotated[float, within(0, 1)]
Seconds = Annotated[float, within(0, SECONDS_MAX)]
Gigabytes = Annotated[float, within(0, GIGABYTES_MAX)]
Reading = Annotated[float, within(0, 1e15)]
Count = Annotated[int, within(0, 10**9)]
Number = Annotated[int, within(0, 1023)]
Instant = Annotated[datetime, Meta(tz=True)]
Problem = tuple[str, str]
Points = tuple[float | None, ...]


class TimelinePayload(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Busy percent and memory by bucket of `step_s` from the node's start; null is a gap."""

    step_s: Annotated[float, within(STEP_MIN_S, STEP_MAX_S)]
    util: Annotated[tuple[Percent | None, ...], Meta(max_length=TIMELINE_POINTS_MAX)] = ()
    mem_gb: Annotated[tuple[Gigabytes | None, ...], Meta(max_length=TIMELINE_POINTS_MAX)] = ()


class MemoryTimelinePayload(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Memory of a run on its node without cached files, by bucket of `step_s` from the node's start; null is a gap."""

    step_s: Annotated[float, within(STEP_MIN_S, STEP_MAX_S)]
    gb: Annotated[tuple[Gigabytes | None, ...], Meta(max_length=MEMORY_POINTS_MAX)] = ()


class GpuPayload(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One GPU of one node over the job; absent numbers are named in `missing` with the reason.

    `recent_power_avg_w` is the mean of its module's power over the summary's `recent_s`; only of a run that goes on.
    """

    gpu_id: Annotated[int, Meta(ge=0, le=1023)]
    avg_util: Percent | None = None
    p95_util: Percent | None = None
    peak_mem_gb: Gigabytes | None = None
    module_id: Number | None = None
    pci_bus: Bus | None = None
    samples: Count | None = None
    measured_s: Seconds | None = None
    active_s: Seconds | None = None
    idle_s: Seconds | None = None
    avg_mem_gb: Gigabytes | None = None
    mem_total_gb: Gigabytes | None = None
    util_histogram_s: dict[int, Seconds] | None = None
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
    recent_power_avg_w: Reading | None = None
    missing: dict[str, str] = {}

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "missing", kept_texts(self.missing))
        drop(self, beyond(self, GPU_BOUNDS) | _no_bus(self.pci_bus) | _no_histogram(self.util_histogram_s))
        drop(self, _above_capacity(self))
        if self.timeline is not None:
            timeline, reasons = _possible_timeline(self.timeline, self.mem_total_gb)
            msgspec.structs.force_setattr(self, "timeline", timeline)
            drop(self, reasons)


class CpuPayload(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The host side of one node: physical cores, fractions of the allocated cores, pressure-stall seconds.

    Only of a run that goes on: `recent_busy_cores` over the summary's `recent_s`, and `memory_timeline`.
    """

    cores_allocated: Count | None = None
    busy_cores_avg: Annotated[float, within(0, CORES_MAX)] | None = None
    user_fraction: Fraction | None = None
    system_fraction: Fraction | None = None
    iowait_fraction: Fraction | None = None
    idle_fraction: Fraction | None = None
    ranks: Count | None = None
    threads_per_rank: Annotated[float, within(0, 1e6)] | None = None
    peak_memory_gb: Gigabytes | None = None
    peak_memory_anon_gb: Gigabytes | None = None
    memory_limit_gb: Gigabytes | None = None
    oom_kills: Count | None = None
    pressure_cpu_s: Seconds | None = None
    pressure_memory_s: Seconds | None = None
    pressure_io_s: Seconds | None = None
    recent_busy_cores: Annotated[float, within(0, CORES_MAX)] | None = None
    memory_timeline: MemoryTimelinePayload | None = None
    missing: dict[str, str] = {}

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "missing", kept_texts(self.missing))
        drop(self, beyond(self, CPU_BOUNDS))
        if self.memory_timeline is not None:
            timeline, reasons = _possible_memory(self.memory_timeline)
            msgspec.structs.force_setattr(self, "memory_timeline", timeline)
            drop(self, reasons)


GPU_BOUNDS, CPU_BOUNDS = bounds_of(GpuPayload), bounds_of(CpuPayload)


class NodePayload(msgspec.Struct, frozen=True, kw_only=True):
    """Everything one node sends about one job run; a later `sequence` replaces an earlier one.

    While the run goes on `final` is false, and `recent_s` is how long the `recent_…` figures of the GPUs and the host
    cover. A final summary has none of these fields.
    """

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
    interval_s: Annotated[float, within(STEP_MIN_S, INTERVAL_MAX_S)] | None = None
    recent_s: Seconds | None = None
    collector_version: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9.+-]{0,32}\Z")] = ""
    cpu: CpuPayload | None = None
    errors: tuple[str, ...] = ()
    own_run: OwnRun | None = None

    def __post_init__(self) -> None:
        in_utc(self, "started_at", "ended_at")
        cleaned = tuple(kept_text(text) for text in self.errors[:ERRORS_MAX])
        if self.interval_s is not None and not STEP_MIN_S <= self.interval_s <= INTERVAL_MAX_S:
            cleaned += (f"interval_s: {PREFIX}{number(self.interval_s)} s",)
            msgspec.structs.force_setattr(self, "interval_s", None)
        if self.final or not _is_within_run(self):
            if not self.final and self.recent_s is not None:
                cleaned += (f"recent_s: {PREFIX}{number(self.recent_s)} s",)
            _drop_recent(self)
        msgspec.structs.force_setattr(self, "errors", cleaned)
        for gpu in self.gpus:
            drop(gpu, _beyond_measured(gpu, self.interval_s or 0))


@lru_cache(maxsize=4096)
def kept_text(text: str) -> str:
    """Free text cut to length, control characters replaced by U+FFFD, and no number of another job in it."""
    return without_other_jobs(printable(text[:TEXT_LENGTH_MAX]))


def without_other_jobs(text: str) -> str:
    """The text without job numbers: readers of a run must not learn who else had a GPU or a node.

    >>> without_other_jobs("GPU 1 was job 8's as well")
    "GPU 1 was another job's as well"
    """
    return OTHER_JOB.sub("another job", text)


def kept_texts(reasons: dict[str, str]) -> dict[str, str]:
    return {kept_text(name): kept_text(reason) for name, reason in list(reasons.items())[:ERRORS_MAX]}


def problems(payload: NodePayload) -> list[Problem]:
    """Contradictions between fields: `(path, message)` of each, empty when there is none."""
    found = impossible_times(started_at=payload.started_at, ended_at=payload.ended_at)
    seen: set[int] = set()
    for index, gpu in enumerate(payload.gpus):
        if gpu.gpu_id in seen:
            found.append((f"gpus[{index}].gpu_id", f"GPU {gpu.gpu_id} is already in this summary"))
        if gpu.avg_util is None and "avg_util" not in gpu.missing:
            found.append((f"gpus[{index}].avg_util", "required, or a reason for it in missing"))
        seen.add(gpu.gpu_id)
    return found


def _is_within_run(payload: NodePayload) -> bool:
    """Whether the recent figures cover some known time, and no more than was measured."""
    recent_s, measured_s = payload.recent_s or 0.0, SECONDS_MAX
    if payload.started_at and payload.ended_at:
        span_s = (payload.ended_at - payload.started_at).total_seconds()
        measured_s = span_s * (1 + SECONDS_SLACK_FRACTION) + (payload.interval_s or 0)
    return 0 < recent_s <= measured_s


def _drop_recent(payload: NodePayload) -> None:
    """Drop what only a summary of a run that goes on has, and the memory over time of one that has ended."""
    msgspec.structs.force_setattr(payload, "recent_s", None)
    for gpu in payload.gpus:
        if gpu.recent_power_avg_w is not None:
            msgspec.structs.force_setattr(gpu, "recent_power_avg_w", None)
    if payload.cpu is not None:
        msgspec.structs.force_setattr(payload.cpu, "recent_busy_cores", None)
        if payload.final:
            msgspec.structs.force_setattr(payload.cpu, "memory_timeline", None)


def _no_bus(bus: str | None) -> dict[str, str]:
    return {} if bus is None or BUS.match(bus) else {"pci_bus": "not the address of a PCI device"}


def _no_histogram(seconds: dict[int, float] | None) -> dict[str, str]:
    """A histogram with an impossible bin is dropped: without that bin all its shares would change."""
    if not seconds or (0 <= min(seconds) <= max(seconds) < HISTOGRAM_BINS and _are_seconds(seconds.values())):
        return {}
    for percent, second in seconds.items():
        if not 0 <= percent < HISTOGRAM_BINS:
            return {"util_histogram_s": f"{number(percent)} is not a whole percent"}
        if not 0 <= second <= SECONDS_MAX:
            return {"util_histogram_s": f"{number(second)} s at {percent} %"}
    return {}


def _are_seconds(values: Collection[float]) -> bool:
    return 0 <= min(values) <= max(values) <= SECONDS_MAX


def _above_capacity(gpu: GpuPayload) -> dict[str, str]:
    """Memory that the GPU does not have; a capacity of zero is ignored here (see `analysis.validation`)."""
    if not gpu.mem_total_gb:
        return {}
    highest_gb = gpu.mem_total_gb * (1 + CAPACITY_SLACK_FRACTION)
    return {
        name: f"{number(value)} GB is above the capacity of {number(gpu.mem_total_gb)} GB"
        for name, value in (("peak_mem_gb", gpu.peak_mem_gb), ("avg_mem_gb", gpu.avg_mem_gb))
        if value is not None and value > highest_gb
    }


def _beyond_measured(gpu: GpuPayload, interval_s: float) -> dict[str, str]:
    """Seconds that add up to more than was measured: it is not known which of them is wrong."""
    if gpu.measured_s is None:
        return {}
    longest_s = gpu.measured_s * (1 + SECONDS_SLACK_FRACTION) + interval_s
    sums = {
        ("active_s", "idle_s"): (gpu.active_s or 0) + (gpu.idle_s or 0),
        ("throttled_s",): gpu.throttled_s or 0,
        ("util_histogram_s",): sum((gpu.util_histogram_s or {}).values()),
    }
    return {
        name: f"{number(total_s)} s in all, {number(gpu.measured_s)} s were measured"
        for names, total_s in sums.items()
        if total_s > longest_s
        for name in names
        if getattr(gpu, name) is not None
    }


def _possible_timeline(
    timeline: TimelinePayload, capacity_gb: float | None
) -> tuple[TimelinePayload | None, dict[str, str]]:
    """The timeline with gaps for its impossible points and without the shorter of two unequal series, and why."""
    if not STEP_MIN_S <= timeline.step_s <= STEP_MAX_S:
        return None, {"timeline": f"buckets of {number(timeline.step_s)} s"}
    highest_gb = capacity_gb * (1 + CAPACITY_SLACK_FRACTION) if capacity_gb else GIGABYTES_MAX
    util, reasons = _possible_points("timeline.util", timeline.util, PERCENT_MAX)
    mem_gb, more = _possible_points("timeline.mem_gb", timeline.mem_gb, highest_gb)
    reasons |= more
    if util and mem_gb and len(util) != len(mem_gb):
        shorter = "util" if len(util) < len(mem_gb) else "mem_gb"
        reasons[f"timeline.{shorter}"] = f"lengths differ, {len(util)} points of use and {len(mem_gb)} of memory"
        util, mem_gb = (() if shorter == "util" else util), (() if shorter == "mem_gb" else mem_gb)
    return (TimelinePayload(step_s=timeline.step_s, util=util, mem_gb=mem_gb) if reasons else timeline), reasons


def _possible_memory(timeline: MemoryTimelinePayload) -> tuple[MemoryTimelinePayload | None, dict[str, str]]:
    """The same with gaps for its impossible points, and why."""
    if not STEP_MIN_S <= timeline.step_s <= STEP_MAX_S:
        return None, {"memory_timeline": f"buckets of {number(timeline.step_s)} s"}
    gb, reasons = _possible_points("memory_timeline.gb", timeline.gb, GIGABYTES_MAX)
    return (MemoryTimelinePayload(step_s=timeline.step_s, gb=gb) if reasons else timeline), reasons


def _are_numbers_within(points: Points, highest: float) -> bool:
    """Whether no point is a gap or impossible."""
    try:
        return min(points) >= 0 and max(points) <= highest  # type: ignore[type-var, operator]
    except TypeError:
        return False


def _possible_points(name: str, points: Points, highest: float) -> tuple[Points, dict[str, str]]:
    if not points or _are_numbers_within(points, highest):
        return points, {}
    wrong = [point for point in points if point is not None and not 0 <= point <= highest]
    if not wrong:
        return points, {}
    kept = tuple(point if point is not None and 0 <= point <= highest else None for point in points)
    return kept, {name: f"{len(wrong)} of {len(points)} points, such as {number(wrong[0])}"}
