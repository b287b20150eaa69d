"""The `raw-samples/1` payload: a short diagnostic window of one node, every sample as it was taken; trusted inside.

All GPUs share one clock. An impossible value becomes a gap, like a sample that was not taken.
"""

from datetime import datetime, timedelta
from itertools import pairwise
from typing import Annotated

import msgspec
from msgspec import Meta

from metrics.own_run import NodeName, Slug
from metrics.payloads import GIGABYTES_MAX, INTERVAL_MAX_S, PERCENT_MAX, Gigabytes, Instant, Percent, Points, Problem
from metrics.possible import in_utc, within
from wire.payloads import RAW_GPUS_MAX, RAW_POINTS_MAX
from wire.times import impossible_times

AT_MAX_S = 1e7
"""Longer than any job."""

Tick = Annotated[float, Meta(ge=0, le=AT_MAX_S)]


class RawGpuPayload(msgspec.Struct, frozen=True, kw_only=True):
    """One GPU: busy percent and memory (2^30 bytes) at each tick of its node; null where there was no sample."""

    gpu_id: Annotated[int, Meta(ge=0, le=1023)]
    util: Annotated[tuple[Percent | None, ...], Meta(max_length=RAW_POINTS_MAX)]
    mem_gb: Annotated[tuple[Gigabytes | None, ...], Meta(max_length=RAW_POINTS_MAX)]

    def __post_init__(self) -> None:
        msgspec.structs.force_setattr(self, "util", _possible(self.util, PERCENT_MAX))
        msgspec.structs.force_setattr(self, "mem_gb", _possible(self.mem_gb, GIGABYTES_MAX))


class RawSamplesPayload(msgspec.Struct, frozen=True, kw_only=True):
    """The window of one node of a run; `at_s` are the ticks, in seconds after `started_at`. A later one replaces it."""

    schema: str
    cluster: Slug
    job_id: Annotated[int, Meta(ge=1, le=2**53)]
    node: NodeName
    started_at: Instant
    at_s: Annotated[tuple[Tick, ...], Meta(min_length=1, max_length=RAW_POINTS_MAX)]
    gpus: Annotated[tuple[RawGpuPayload, ...], Meta(min_length=1, max_length=RAW_GPUS_MAX)]
    attempt: Annotated[int, Meta(ge=0, le=10**6)] = 0
    ended_at: Instant | None = None
    interval_s: Annotated[float, within(0, INTERVAL_MAX_S)] | None = None
    collector_version: Annotated[str, Meta(pattern=r"\A[A-Za-z0-9.+-]{0,32}\Z")] = ""

    def __post_init__(self) -> None:
        in_utc(self, "started_at", "ended_at")
        if self.interval_s is not None and not 0 < self.interval_s <= INTERVAL_MAX_S:
            msgspec.structs.force_setattr(self, "interval_s", None)


def problems(payload: RawSamplesPayload) -> list[Problem]:
    """Contradictions between fields: `(path, message)` of each, empty when there is none."""
    found: list[Problem] = impossible_times(started_at=payload.started_at, ended_at=payload.ended_at)
    backward = (place for place, (before, at) in enumerate(pairwise(payload.at_s), 1) if at <= before)
    found += [(f"at_s[{place}]", "is not after the tick before it") for place in [*backward][:1]]
    seen: set[int] = set()
    for index, gpu in enumerate(payload.gpus):
        if gpu.gpu_id in seen:
            found.append((f"gpus[{index}].gpu_id", f"GPU {gpu.gpu_id} is already in this window"))
        seen.add(gpu.gpu_id)
        for name, points in (("util", gpu.util), ("mem_gb", gpu.mem_gb)):
            if len(points) != len(payload.at_s):
                message = f"has {len(points)} points, and at_s has {len(payload.at_s)}"
                found.append((f"gpus[{index}].{name}", message))
    return found


def window_end(payload: RawSamplesPayload) -> datetime:
    """When the window ended: as reported, else at its last tick."""
    return payload.ended_at or payload.started_at + timedelta(seconds=payload.at_s[-1])


def _possible(points: Points, highest: float) -> Points:
    return tuple(point if point is not None and 0 <= point <= highest else None for point in points)
