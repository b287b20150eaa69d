"""Cutting whole runs at given seconds: what a collector would have sent by then, and what happened afterwards.

A cut needs the whole course of a run: the samples of each node to the end, and its host over time. Nothing after the
cut reaches a payload. Nodes whose samples end before the cut fell silent and send nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from cases.readings import Floats, Node, summary

FIRST_S, EVERY_S = 600.0, 3600.0
"""When a collector sends by its settings as delivered: after ten minutes, then each hour."""
MEMORY_STEP_S, MEMORY_POINTS = 60.0, 60
"""Buckets of `cpu.memory_timeline`: a minute, doubled until 60 points hold the run so far."""
SILENT_AFTER_S = 120.0
"""A node whose samples end so long before the cut is silent: the last sample before a cut may be missing."""


@dataclass(frozen=True)
class Host:
    """The host side of one node over the whole run, a value each `step_s`; NaN was not read.

    `memory_gb` is the job's memory without page cache, None where it was not read; `cache_gb` is page cache that the
    cgroup counts on top. `rest` are further fields of the payload's `cpu`; its seconds are of the whole run.
    """

    busy_cores: Floats
    memory_gb: Floats | None
    cores: int = 56
    limit_gb: float | None = 480.0
    cache_gb: float = 0.0
    step_s: float = 60.0
    rest: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Course:
    """A whole run in retrospect. `record` has the fields of `job-record/1` that a summary repeats; `hosts` belong to
    `nodes` one by one, None where the host was not read. `limit_s` is the time limit, None where it is not known."""

    name: str
    job_name: str
    record: Mapping[str, Any]
    nodes: tuple[Node, ...]
    hosts: tuple[Host | None, ...]
    elapsed_s: float
    state: str
    limit_s: float | None = None

    @property
    def started_at(self) -> datetime:
        return datetime.fromisoformat(self.record["started_at"])


@dataclass(frozen=True)
class After:
    """What really happened after a cut. `util_mean` is the mean busy percent of each GPU from the cut to the end by
    (node, gpu_id), NaN where nothing more was measured; `left_s` and `state` tell when and how the run ended."""

    util_mean: Mapping[tuple[str, int], float]
    left_s: float
    state: str


@dataclass(frozen=True)
class Cut:
    """A run as it was seen `at_s` seconds after its start; the payloads before this were made at `since_s` (0: none
    were). `payloads` are those made now, `standing` the newest of each node, also of nodes in `silent`."""

    course: Course
    at_s: float
    since_s: float
    payloads: tuple[dict[str, Any], ...]
    standing: tuple[dict[str, Any], ...]
    silent: tuple[str, ...]
    after: After

    @property
    def left_s(self) -> float:
        return self.after.left_s


def schedule(elapsed_s: float, first_s: float = FIRST_S, every_s: float = EVERY_S) -> tuple[float, ...]:
    """The seconds of the real schedule at which the run still lasts: 600, 4200, 7800, ..."""
    count = max(0, math.ceil((elapsed_s - first_s) / every_s))
    return tuple(first_s + every_s * number for number in range(count))


def cuts(course: Course, at_s: Sequence[float]) -> Iterator[Cut]:
    """The run at each of the seconds, in order; seconds at which it had ended give nothing."""
    newest: dict[str, dict[str, Any]] = {}
    since_s = 0.0
    for number, second in enumerate(sorted(at_s), start=1):
        if second >= course.elapsed_s:
            return
        made = tuple(_interims(course, second, since_s, number))
        newest |= {payload["node"]: payload for payload in made}
        names = [name for name, _, _ in _named(course)]
        silent = tuple(name for name in names if name not in {payload["node"] for payload in made})
        standing = tuple(newest[name] for name in names if name in newest)
        yield Cut(course, second, since_s, made, standing, silent, after(course, second))
        since_s = second


def after(course: Course, at_s: float) -> After:
    """The rest of the run."""
    means: dict[tuple[str, int], float] = {}
    for name, node, _ in _named(course):
        rest = np.clip(node.util[int(at_s / node.step_s) :], 0, 100)
        for column, gpu_id in enumerate(node.gpu_ids or range(node.util.shape[1])):
            read = rest[:, column][~np.isnan(rest[:, column])]
            means[name, gpu_id] = float(np.mean(read)) if read.size else math.nan
    return After(means, course.elapsed_s - at_s, course.state)


def _named(course: Course) -> list[tuple[str, Node, Host | None]]:
    rows = zip(course.record["nodes"], course.nodes, course.hosts, strict=False)
    return [(node.name or name, node, host) for name, node, host in rows]


def _interims(course: Course, at_s: float, since_s: float, sequence: int) -> Iterator[dict[str, Any]]:
    ended_at = (course.started_at + timedelta(seconds=at_s)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name, node, host in _named(course):
        if node.util.shape[0] * node.step_s < at_s - SILENT_AFTER_S - node.step_s or at_s < node.step_s:
            continue
        whole = summary({**course.record, "ended_at": ended_at}, between(node, 0.0, at_s), name)
        recent = summary({**course.record, "ended_at": ended_at}, between(node, since_s, at_s), name)
        for gpu, newer in zip(whole["gpus"], recent["gpus"], strict=True):
            if "power_avg_w" in gpu and "power_avg_w" in newer:
                gpu["recent_power_avg_w"] = newer["power_avg_w"]
        cpu = _cpu(host, course.elapsed_s, at_s, since_s) if host else None
        yield whole | {"final": False, "sequence": sequence, "recent_s": at_s - since_s, "cpu": cpu}


def between(node: Node, from_s: float, to_s: float) -> Node:
    """The node's samples of [from_s, to_s)."""
    span = slice(int(from_s / node.step_s), int(to_s / node.step_s))
    power_w = node.power_w[span] if node.power_w is not None else None
    return replace(node, util=node.util[span], mem_gb=node.mem_gb[span], power_w=power_w)


def _cpu(host: Host, elapsed_s: float, at_s: float, since_s: float) -> dict[str, Any]:
    """The host so far. Pressure grows evenly over the run; kills for memory come at its end."""
    rest = dict(host.rest or {})
    scaled = {key: round(value * at_s / elapsed_s, 1) for key, value in rest.items() if key.startswith("pressure_")}
    kills = {"oom_kills": 0} if "oom_kills" in rest else {}
    return rest | scaled | kills | _busy(host, at_s, since_s) | _host_memory(host, at_s)


def _busy(host: Host, at_s: float, since_s: float) -> dict[str, Any]:
    to = max(1, int(at_s / host.step_s))
    so_far, recent = host.busy_cores[:to], host.busy_cores[min(int(since_s / host.step_s), to - 1) : to]
    if np.all(np.isnan(so_far)):
        return {"cores_allocated": host.cores}
    average = float(np.nanmean(so_far))
    fields: dict[str, Any] = {"cores_allocated": host.cores, "busy_cores_avg": round(average, 3)}
    if host.cores:
        fields["idle_fraction"] = round(max(0.0, 1.0 - average / host.cores), 4)
    if not np.all(np.isnan(recent)):
        fields["recent_busy_cores"] = round(float(np.nanmean(recent)), 3)
    return fields


def _host_memory(host: Host, at_s: float) -> dict[str, Any]:
    fields: dict[str, Any] = {} if host.limit_gb is None else {"memory_limit_gb": host.limit_gb}
    if host.memory_gb is None:
        return fields
    so_far = host.memory_gb[: max(1, int(at_s / host.step_s))]
    if np.all(np.isnan(so_far)):
        return fields
    peak_gb = float(np.nanmax(so_far))
    held_gb = peak_gb + host.cache_gb if host.limit_gb is None else min(peak_gb + host.cache_gb, host.limit_gb)
    return fields | {
        "peak_memory_gb": round(held_gb, 2),
        "peak_memory_anon_gb": round(peak_gb, 2),
        "memory_timeline": memory_timeline(so_far, host.step_s),
    }


def memory_timeline(values_gb: Floats, step_s: float) -> dict[str, Any]:
    """Means in buckets of a minute, or of more minutes where 60 of them are too short; a bucket not read is null."""
    bucket_s = MEMORY_STEP_S
    while values_gb.size * step_s > bucket_s * MEMORY_POINTS:
        bucket_s *= 2
    bucket = ((np.arange(values_gb.size) * step_s) // bucket_s).astype(np.int64)
    points: list[float | None] = []
    for number in range(int(bucket[-1]) + 1):
        read = values_gb[(bucket == number) & ~np.isnan(values_gb)]
        points.append(round(float(np.mean(read)), 2) if read.size else None)
    return {"step_s": bucket_s, "gb": points}
