"""From made-up samples to `node-summary/1`: what a collector would have sent for them, number by number.

Shapes: T samples `step_s` apart, G GPUs, M modules. NaN is a sample that was lost.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wire.payloads import HISTOGRAM_BINS, IDLE_UTIL_PERCENT_MAX, NODE_SUMMARY

Floats = NDArray[np.float64]

# The collector's own bound on a timeline (collector/totals.py), below the 240 of the contract.
TIMELINE_POINTS = 120
ENDED_AT = datetime(2026, 11, 20, 12, 30, tzinfo=UTC)
PCI_BUSES = ("c1", "c6", "c9", "ce", "d1", "d6", "d9", "de")


@dataclass(frozen=True)
class Node:
    """The samples of one node: busy percent and memory `(T, G)`, power `(T, M)` of its modules or None where none was
    read. `cpu` is the `cpu` object of the payload, None where the host was not read. `gpu_ids` are Slurm's numbers on
    the node; a module is two neighbours (0 and 1, 2 and 3), and its power is reported by the even one.
    `fields` replaces or adds fields of single GPUs by their id; None drops a field.
    """

    util: Floats
    mem_gb: Floats
    power_w: Floats | None = None
    cpu: Mapping[str, Any] | None = None
    gpu_ids: tuple[int, ...] = ()
    step_s: float = 1.0
    mem_total_gb: float = 63.98
    power_cap_w: float = 500.0
    gpus_per_module: int = 2
    throttled_fraction: float = 0.0
    name: str = ""
    errors: tuple[str, ...] = ()
    fields: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)


def payloads(record: Mapping[str, Any], nodes: list[Node]) -> list[dict[str, Any]]:
    """The summaries of all nodes of one run, one after another in the order of the record's node list."""
    return [summary(record, node, node.name or name) for node, name in zip(nodes, record["nodes"], strict=False)]


def complete_record(fields: Mapping[str, Any], index: int) -> dict[str, Any]:
    """`job-record/1` of a case: ids, node names and times that the case leaves out, and nothing else."""
    nodes = int(fields.get("node_count") or 1)
    elapsed_s = float(fields.get("walltime_used_s") or 0.0)
    started_at = ENDED_AT - timedelta(seconds=elapsed_s)
    return {
        "schema": "job-record/1",
        "cluster": "lumi",
        "job_id": 700000 + index,
        "attempt": 0,
        "user_id": "alice",
        "project_id": "project_465000001",
        "nodes": [f"nid{5200 + number:06d}" for number in range(nodes)],
        "node_count": nodes,
        "submitted_at": _text(started_at - timedelta(minutes=20)),
        "started_at": _text(started_at),
        "ended_at": _text(ENDED_AT),
        **fields,
    }


def summary(record: Mapping[str, Any], node: Node, name: str) -> dict[str, Any]:
    """The final summary of one node, over all its samples."""
    ids = node.gpu_ids or tuple(range(node.util.shape[1]))
    return {
        "schema": NODE_SUMMARY,
        "cluster": record["cluster"],
        "job_id": record["job_id"],
        "attempt": record["attempt"],
        "node": name,
        "sequence": 1,
        "final": True,
        "started_at": record["started_at"],
        "ended_at": record["ended_at"],
        "interval_s": max(node.step_s, 1.0),
        "collector_version": "1.0.0",
        "gpus": [_gpu(node, index, gpu_id, ids) for index, gpu_id in enumerate(ids)],
        "cpu": dict(node.cpu) if node.cpu is not None else None,
        "errors": list(node.errors),
    }


def _gpu(node: Node, index: int, gpu_id: int, ids: tuple[int, ...]) -> dict[str, Any]:
    util, mem_gb = np.clip(node.util[:, index], 0, 100), np.clip(node.mem_gb[:, index], 0, node.mem_total_gb)
    is_read = ~np.isnan(util)
    measured_s = float(np.sum(is_read)) * node.step_s
    gpu: dict[str, Any] = {
        "gpu_id": gpu_id,
        "module_id": gpu_id // node.gpus_per_module,
        "pci_bus": f"0000:{PCI_BUSES[gpu_id % 8]}:00.0",
        "mem_total_gb": node.mem_total_gb,
        "measured_s": measured_s,
        "samples": int(np.sum(is_read)),
        "throttled_s": round(node.throttled_fraction * measured_s, 1),
        "missing": {"pcie_bandwidth": "unsupported"},
        **(_use(util[is_read], node.step_s) if measured_s else {"missing": {"avg_util": "no sample"}}),
        **_memory(mem_gb),
        **_power(node, gpu_id, ids),
        "timeline": _timeline(util, mem_gb, node.step_s),
    }
    gpu |= node.fields.get(gpu_id, {})
    return {name: value for name, value in gpu.items() if value is not None}


def _use(util: Floats, step_s: float) -> dict[str, Any]:
    counts = np.bincount(np.rint(util).astype(np.int64), minlength=HISTOGRAM_BINS)
    histogram_s = counts * step_s
    idle_s = float(np.sum(util <= IDLE_UTIL_PERCENT_MAX)) * step_s
    return {
        "avg_util": round(float(np.mean(util)), 3),
        "p95_util": _percentile_95(counts),
        "active_s": round(util.size * step_s - idle_s, 3),
        "idle_s": round(idle_s, 3),
        "util_histogram_s": {str(bin_): round(float(histogram_s[bin_]), 3) for bin_ in np.flatnonzero(histogram_s)},
    }


def _percentile_95(counts: NDArray[np.int64]) -> float:
    """The least whole percent that 95 % of the samples do not exceed, from how many samples had each.

    >>> _percentile_95(np.array([0, 19, 0, 1]))
    1.0
    """
    rank = max(0, math.ceil(int(counts.sum()) * 0.95 - 1))
    return float(np.searchsorted(np.cumsum(counts), rank, side="right"))


def _memory(mem_gb: Floats) -> dict[str, Any]:
    if np.all(np.isnan(mem_gb)):
        return {}
    return {"peak_mem_gb": round(float(np.nanmax(mem_gb)), 3), "avg_mem_gb": round(float(np.nanmean(mem_gb)), 3)}


def _power(node: Node, gpu_id: int, ids: tuple[int, ...]) -> dict[str, Any]:
    """As the collector reports it: the whole module by its first GPU, and only where the job had all of the module."""
    if node.power_w is None or gpu_id % node.gpus_per_module:
        return {}
    if any(gpu_id + other not in ids for other in range(node.gpus_per_module)):
        return {}
    modules = sorted({number // node.gpus_per_module for number in ids})
    watts = node.power_w[:, modules.index(gpu_id // node.gpus_per_module)]
    if np.all(np.isnan(watts)):
        return {}
    average_w = float(np.nanmean(watts))
    return {
        "power_avg_w": round(average_w, 1),
        "power_peak_w": round(float(np.nanmax(watts)), 1),
        "power_cap_w": node.power_cap_w,
        "energy_j": round(average_w * watts.size * node.step_s, 1),
    }


def _timeline(util: Floats, mem_gb: Floats, step_s: float) -> dict[str, Any]:
    """Means of buckets whose width doubles until they are few enough; a bucket without samples is a gap."""
    width = 1
    while math.ceil(util.size / width) > TIMELINE_POINTS:
        width *= 2
    return {"step_s": width * step_s, "util": _means(util, width, 1), "mem_gb": _means(mem_gb, width, 2)}


def _means(values: Floats, width: int, digits: int) -> list[float | None]:
    padded = np.full(math.ceil(values.size / width) * width, np.nan)
    padded[: values.size] = values
    rows = padded.reshape(-1, width)
    counts, sums = np.sum(~np.isnan(rows), axis=1).tolist(), np.nansum(rows, axis=1).tolist()
    return [round(total / count, digits) if count else None for total, count in zip(sums, counts, strict=True)]


def _text(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")
