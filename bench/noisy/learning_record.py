"""Job records of machine-learning runs on LUMI-G, in the spellings that users use, as Slurm would allocate them."""

from __future__ import annotations

from typing import Any

from bench.noisy.case import Sensible

# LUMI user guide, lumig-job: 56 usable cores and 480 GB a node, 7 cores and 60 GB a GPU.
NODE_CORES, NODE_GB, NODE_GPUS = 56, 480.0, 8
SHARE_CORES, SHARE_GB = 7, 60.0
HOUR_S, MINUTE_S = 3600.0, 60.0


def small(
    job_name: str,
    gpus: int,
    used_h: float,
    limit_h: float,
    *,
    tasks: int = 1,
    cores: int | None = None,
    memory_gb: float | None = None,
    nodes: int = 1,
    spelling: str = "per-node",
    partition: str = "small-g",
    **changes: Any,
) -> dict[str, Any]:
    """A run on a partition that is shared by resource; cores and memory default to what comes with the GPUs."""
    cores = gpus * SHARE_CORES if cores is None else cores
    memory_gb = gpus * SHARE_GB if memory_gb is None else memory_gb
    options = _options(spelling, gpus, nodes, tasks, cores // tasks, memory_gb)
    return _record(job_name, partition, nodes, gpus, tasks, cores, memory_gb, used_h, limit_h, options) | changes


def standard(
    job_name: str,
    nodes: int,
    used_h: float,
    limit_h: float,
    *,
    tasks: int = 8,
    cores_per_task: int = 7,
    spelling: str = "per-node",
    **changes: Any,
) -> dict[str, Any]:
    """A run on standard-g: whole nodes. `tasks` are per node."""
    options = _options(spelling, nodes * NODE_GPUS, nodes, nodes * tasks, cores_per_task, nodes * NODE_GB)
    cores, memory_gb = nodes * NODE_CORES, nodes * NODE_GB
    gpus = nodes * NODE_GPUS
    whole = _record(job_name, "standard-g", nodes, gpus, nodes * tasks, cores, memory_gb, used_h, limit_h, options)
    return whole | {"cpus_per_task": cores_per_task} | changes


def seconds(hours: float) -> float:
    return hours * HOUR_S


def codes(text: str) -> frozenset[str]:
    return frozenset(text.split())


def fits(gpus: int, host_gb: float, used_h: float, **changes: Any) -> Sensible:
    """The present request is right in GPUs; what was used of host memory and time must stay."""
    bounds: dict[str, Any] = {"gpus": (gpus,), "memory_min_gb": host_gb, "walltime_min_s": seconds(used_h)}
    return Sensible(**(bounds | changes))


def _record(
    job_name: str,
    partition: str,
    nodes: int,
    gpus: int,
    tasks: int,
    cores: int,
    memory_gb: float,
    used_h: float,
    limit_h: float,
    options: dict[str, str],
) -> dict[str, Any]:
    return {
        "state": "COMPLETED",
        "exit_code": "0:0",
        "job_name": job_name,
        "partition": partition,
        "node_count": nodes,
        "gpus_requested": gpus,
        "gpus_allocated": gpus,
        "gpus_per_node": gpus // nodes,
        "ntasks": tasks,
        "cpus_per_task": cores // tasks,
        "cpus_allocated": cores,
        "memory_requested_gb": memory_gb,
        "walltime_requested_s": seconds(limit_h),
        "walltime_used_s": round(seconds(used_h)),
        "request": {"--partition": partition, "--nodes": str(nodes), "--time": _clock(limit_h), **options},
    }


def _options(spelling: str, gpus: int, nodes: int, tasks: int, cores_per_task: int, memory_gb: float) -> dict[str, str]:
    per_node, memory = gpus // nodes, f"{memory_gb / nodes:.0f}G"
    cores = {"--cpus-per-task": str(cores_per_task)}
    placed = {"--ntasks-per-node": str(tasks // nodes)} | cores
    spellings = {
        "per-node": {"--gpus-per-node": str(per_node)} | placed | {"--mem": memory},
        "gres": {"--gres": f"gpu:{per_node}"} | placed | {"--mem": memory},
        "gres-type": {"--gres": f"gpu:mi250:{per_node}"} | placed | {"--mem": memory},
        "gpus": {"--gpus": str(gpus), "--ntasks": str(tasks)} | cores | {"--mem-per-gpu": f"{memory_gb / gpus:.0f}G"},
        "per-task": {"--ntasks": str(tasks), "--gpus-per-task": str(gpus // tasks)}
        | cores
        | {"--mem-per-gpu": f"{memory_gb / gpus:.0f}G"},
        "mem-per-cpu": {"--gpus-per-node": str(per_node)}
        | placed
        | {"--mem-per-cpu": f"{memory_gb / tasks / cores_per_task:.0f}G"},
        "no-memory": {"--gpus-per-node": str(per_node)} | placed,
        "exclusive": {"--exclusive": "", "--gpus-per-node": str(per_node)} | placed | {"--mem": "0"},
    }
    return spellings[spelling]


def _clock(hours: float) -> str:
    minutes = round(hours * 60)
    days, rest = divmod(minutes, 24 * 60)
    text = f"{rest // 60:02d}:{rest % 60:02d}:00"
    return f"{days}-{text}" if days else text
