"""Job records of the cases about requests and endings: what Slurm on LUMI gives for what was requested.

Cores are physical, memory is GB of 2^30 bytes, hours are of wall clock. `asked` replaces options of the request by the
user's own spelling; None drops an option.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Asked = Mapping[str, str | None]


def codes(*names: str) -> frozenset[str]:
    """Finding codes of one case."""
    return frozenset(names)


def hours(number: float) -> int:
    """Seconds, as Slurm counts them."""
    return round(number * 3600)


def clock(seconds: int) -> str:
    """`--time` as people write it.

    >>> clock(5400)
    '01:30:00'
    """
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}:{seconds % 60:02d}"


def shared(
    gpus: int,
    used_h: float,
    limit_h: float,
    *,
    cores: int = 0,
    memory_gb: float = 0,
    nodes: int = 1,
    tasks: int = 0,
    partition: str = "small-g",
    asked: Asked | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A run on a partition shared by resource; by default 7 cores and 60 GB for each GPU, one task for each GPU.
    GPUs, cores, memory and tasks are for each node."""
    tasks = tasks or gpus
    cores = cores or 7 * gpus
    memory_gb = memory_gb or 60.0 * gpus
    request = {
        "--partition": partition,
        "--nodes": str(nodes),
        "--gpus-per-node": str(gpus),
        "--ntasks-per-node": str(tasks),
        "--cpus-per-task": str(cores // tasks),
        "--mem": f"{memory_gb:g}G",
        "--time": clock(hours(limit_h)),
    }
    return _record(request, asked, partition, nodes, gpus, cores, memory_gb, tasks, used_h, limit_h) | fields


def whole(
    nodes: int,
    used_h: float,
    limit_h: float,
    *,
    tasks: int = 8,
    partition: str = "standard-g",
    asked: Asked | None = None,
    **fields: Any,
) -> dict[str, Any]:
    """A run on whole nodes: 8 GPUs, 56 cores and 480 GB each, whatever was requested. Tasks are for each node."""
    request = {
        "--partition": partition,
        "--nodes": str(nodes),
        "--gpus-per-node": "8",
        "--ntasks-per-node": str(tasks),
        "--cpus-per-task": str(56 // tasks),
        "--time": clock(hours(limit_h)),
    }
    record = _record(request, asked, partition, nodes, 8, 56, 480.0, tasks, used_h, limit_h)
    return record | {"is_exclusive": True} | fields


def othersite(
    gpus: int, used_h: float, limit_h: float, *, nodes: int = 1, asked: Asked | None = None, **fields: Any
) -> dict[str, Any]:
    """A run on a cluster that Kaiku knows nothing of: 4 GPUs, 64 cores and 500 GB a node, 16 cores for each GPU."""
    request = {
        "--partition": "gpu",
        "--nodes": str(nodes),
        "--gres": f"gpu:{gpus}",
        "--ntasks-per-node": str(gpus),
        "--cpus-per-task": "16",
        "--mem": f"{125 * gpus}G",
        "--time": clock(hours(limit_h)),
    }
    record = _record(request, asked, "gpu", nodes, gpus, 16 * gpus, 125.0 * gpus, gpus, used_h, limit_h)
    names = [f"gpu-b{number + 11:02d}" for number in range(nodes)]
    return record | {"cluster": "othersite", "project_id": "bio_ml", "nodes": names} | fields


def _record(
    request: dict[str, str],
    asked: Asked | None,
    partition: str,
    nodes: int,
    gpus: int,
    cores: int,
    memory_gb: float,
    tasks: int,
    used_h: float,
    limit_h: float,
) -> dict[str, Any]:
    spelled = {**request, **(asked or {})}
    return {
        "state": "COMPLETED",
        "exit_code": "0:0",
        "job_name": "train",
        "partition": partition,
        "node_count": nodes,
        "gpus_requested": nodes * gpus,
        "gpus_allocated": nodes * gpus,
        "gpus_per_node": gpus,
        "ntasks": nodes * tasks,
        "cpus_per_task": max(1, cores // tasks),
        "cpus_allocated": nodes * cores,
        "memory_requested_gb": float(nodes * memory_gb),
        "walltime_requested_s": hours(limit_h),
        "walltime_used_s": hours(used_h),
        "request": {name: value for name, value in spelled.items() if value is not None},
    }
