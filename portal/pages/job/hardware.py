"""The tables of GPUs and nodes on a job's page, as measured."""

from __future__ import annotations

from dataclasses import fields

import numpy as np

from metrics.series import HostColumns, RunMetrics

GPU_COLUMNS = ("avg_util", "p95_util", "idle_s", "peak_mem_gb", "mem_total_gb", "power_avg_w")
HOST_COLUMNS = tuple(column.name for column in fields(HostColumns))
WHOLE_NUMBERS = ("cores_allocated", "ranks", "oom_kills")


def gpu_table(measured: RunMetrics, limit: int) -> list[dict[str, object]]:
    """The first GPUs of a run by node and number; None is not measured."""
    gpus = measured.gpus
    return [
        {"node": measured.nodes[gpus.node_index[row]], "gpu_id": int(gpus.gpu_id[row])}
        | {name: _number(name, getattr(gpus, name)[row]) for name in GPU_COLUMNS}
        for row in range(min(gpus.count, limit))
    ]


def host_table(measured: RunMetrics, limit: int) -> list[dict[str, object]]:
    """The first nodes of a run whose host side was measured; None is not measured."""
    columns = {name: getattr(measured.hosts, name) for name in HOST_COLUMNS}
    is_measured = np.any([~np.isnan(values) for values in columns.values()], axis=0)
    return [
        {"node": measured.nodes[row]} | {name: _number(name, values[row]) for name, values in columns.items()}
        for row in np.flatnonzero(is_measured)[:limit].tolist()
    ]


def _number(name: str, value: float) -> float | None:
    if np.isnan(value):
        return None
    return int(value) if name in WHOLE_NUMBERS else float(value)
