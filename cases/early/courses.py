"""Whole courses of runs that Kaiku already has: the cases of the noisy library and the real traces.

A case gives only end totals of the host. Their course is made up, the simplest that fits the story: busy cores are the
same all the time (with 3 % noise), pressure grows evenly, and memory rises to its peak within the first tenth of the
run, a quarter of an hour at most, and stays there. Where the story ends with a kill for host memory, memory grows in a
straight line from 15 % of the limit to the limit; where it says that one moment did it (rank 0 gathers all fields), it
stays at 55 % until the last three minutes. All of a case's memory counts as memory without page cache, but for the
cases whose story says that it is page cache: there a third of it is memory.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any

import numpy as np

from cases.case import Case
from cases.early.cutting import Course, Host
from cases.early.exceptions import PAGE_CACHE
from cases.readings import Floats, Node, complete_record
from cases.real_runs import RealRun
from metrics.payloads import GpuPayload, NodePayload

GATHERED_AT_ONCE = frozenset(
    {"host_oom_on_the_node_of_rank_zero", "inspector_rank_zero_gathers_too_much", "gpaw_killed_for_host_memory"}
)
"""Cases whose story says that one output filled the host's memory: nothing was to be seen before."""
FIRST_SHARE, PLATEAU_SHARE, GATHERS_S = 0.15, 0.55, 180.0
NOT_CACHE_SHARE = 1 / 3
RISES_SHARE, RISES_S_MAX = 0.1, 900.0
STEP_S = 60.0


def course_of_case(case: Case, index: int, seed: int) -> Course:
    """The case drawn with the seed; `index` numbers the job."""
    rng = np.random.default_rng((seed, zlib.crc32(case.name.encode())))
    nodes = tuple(case.draw(rng))
    record = complete_record(case.record, index)
    elapsed_s = float(record.get("walltime_used_s") or 0.0)
    limit_s = record.get("walltime_requested_s")
    return Course(
        name=case.name,
        job_name=record["job_name"],
        record=record,
        nodes=nodes,
        hosts=tuple(_host(case.name, node.cpu, elapsed_s, rng) for node in nodes),
        elapsed_s=elapsed_s,
        state=record["state"],
        limit_s=float(limit_s) if limit_s else None,
    )


def _host(name: str, cpu: Mapping[str, Any] | None, elapsed_s: float, rng: np.random.Generator) -> Host | None:
    if cpu is None:
        return None
    count = max(1, int(elapsed_s / STEP_S))
    busy = float(cpu.get("busy_cores_avg", np.nan))
    peak_gb, limit_gb = cpu.get("peak_memory_gb"), cpu.get("memory_limit_gb")
    memory_gb, cache_gb = None, 0.0
    if peak_gb is not None and name in PAGE_CACHE:
        peak_gb, cache_gb = float(peak_gb) * NOT_CACHE_SHARE, float(peak_gb) * (1.0 - NOT_CACHE_SHARE)
    if peak_gb is not None:
        kind = _kind(name, bool(cpu.get("oom_kills")), float(peak_gb), limit_gb)
        memory_gb = _memory(kind, float(peak_gb), count) * (1.0 - np.abs(rng.normal(0.0, 0.002, count)))
    return Host(
        busy_cores=busy * (1.0 + rng.normal(0.0, 0.03, count)).clip(0.0, 1.1),
        memory_gb=memory_gb,
        cores=int(cpu.get("cores_allocated") or 0),
        limit_gb=float(limit_gb) if limit_gb else None,
        cache_gb=cache_gb,
        step_s=STEP_S,
        rest=cpu,
    )


def _kind(name: str, is_killed: bool, peak_gb: float, limit_gb: float | None) -> str:
    if not is_killed or not limit_gb or peak_gb < 0.95 * limit_gb:
        return "plateau"
    return "gathered" if name in GATHERED_AT_ONCE else "growing"


def _memory(kind: str, peak_gb: float, count: int) -> Floats:
    share = (np.arange(count) + 1.0) / count
    if kind == "growing":
        return peak_gb * (FIRST_SHARE + (1.0 - FIRST_SHARE) * share)
    if kind == "gathered":
        is_late = np.arange(count) >= count - GATHERS_S / STEP_S
        return peak_gb * np.where(is_late, 1.0, PLATEAU_SHARE)
    rises = float(max(1.0, min(RISES_SHARE * count, RISES_S_MAX / STEP_S)))
    return np.asarray(peak_gb * np.minimum(1.0, (np.arange(count) + 1.0) / rises))


def course_of_real_run(run: RealRun) -> Course | None:
    """The run from its stored timelines: a sample is a bucket's mean. None where nothing was measured over time.

    Power is stored as one mean of the whole run and the host not at all: both are left out of the interims."""
    nodes = tuple(_real_node(node) for node in run.nodes)
    if not any(node.util.size for node in nodes):
        return None
    record, started_at = run.record, run.record.started_at
    elapsed_s = float(record.walltime_used_s or 0.0)
    return Course(
        name=run.name,
        job_name=record.job_name or "",
        record={
            "cluster": record.cluster,
            "job_id": record.job_id,
            "attempt": 0,
            "nodes": [node.node for node in run.nodes],
            "started_at": _text(started_at),
        },
        nodes=nodes,
        hosts=(None,) * len(nodes),
        elapsed_s=elapsed_s,
        state=record.state or "",
    )


def _real_node(payload: NodePayload) -> Node:
    gpus = [gpu for gpu in payload.gpus if gpu.timeline is not None and gpu.timeline.util]
    steps = {gpu.timeline.step_s for gpu in gpus if gpu.timeline}
    length = max((len(gpu.timeline.util) for gpu in gpus if gpu.timeline), default=0)
    return Node(
        util=_columns([gpu.timeline.util for gpu in gpus if gpu.timeline], length),
        mem_gb=_columns([gpu.timeline.mem_gb for gpu in gpus if gpu.timeline], length),
        gpu_ids=tuple(gpu.gpu_id for gpu in gpus),
        step_s=max(steps, default=1.0),
        mem_total_gb=_total_gb(gpus),
        gpus_per_module=1,
        name=payload.node,
    )


def _total_gb(gpus: list[GpuPayload]) -> float:
    return max((gpu.mem_total_gb or 0.0 for gpu in gpus), default=0.0) or 1.0


def _columns(series: list[tuple[float | None, ...]], length: int) -> Floats:
    values = np.full((length, len(series)), np.nan)
    for column, points in enumerate(series):
        values[: len(points), column] = [np.nan if point is None else point for point in points]
    return values


def _text(moment: datetime | None) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ") if moment else "2026-11-20T08:00:00Z"
