"""Job records of the inspector's runs: what people write in their scripts on LUMI and elsewhere, what Slurm gave."""

from __future__ import annotations

from typing import Any

HOUR_S = 3600
MINUTE_S = 60
EXIT_CODES = {
    "COMPLETED": "0:0",
    "FAILED": "1:0",
    "TIMEOUT": "0:15",
    "CANCELLED": "0:15",
    "OUT_OF_MEMORY": "0:125",
}


def run(
    job_name: str,
    partition: str,
    used_s: float,
    limit_s: int,
    *,
    state: str = "COMPLETED",
    nodes: int = 1,
    gpus: int = 8,
    tasks: int | None = None,
    cores: int | None = None,
    memory_gb: float | None = None,
    options: dict[str, str] | None = None,
    **more: Any,
) -> dict[str, Any]:
    """`job-record/1` fields; `gpus`, `tasks`, `cores` and `memory_gb` are of one node.

    `options` are the user's own spelling without the time, None: nobody knows it (accounting).
    """
    ranks = gpus if tasks is None else tasks
    cores = 7 * gpus if cores is None else cores
    memory_gb = 60.0 * gpus if memory_gb is None else memory_gb
    spelled = {} if options is None else {"--partition": partition, "--time": clock(limit_s), **options}
    return {
        "job_name": job_name,
        "partition": partition,
        "qos": "normal",
        "state": state,
        "exit_code": EXIT_CODES.get(state, "0:0"),
        "node_count": nodes,
        "gpus_requested": gpus * nodes,
        "gpus_per_node": gpus,
        "gpus_allocated": gpus * nodes,
        "ntasks": ranks * nodes,
        "cpus_allocated": cores * nodes,
        "cpus_per_task": max(1, cores // max(1, ranks)),
        "memory_requested_gb": memory_gb * nodes,
        "walltime_requested_s": limit_s,
        "walltime_used_s": float(used_s),
        **({"request": spelled} if spelled else {}),
        **more,
    }


def elsewhere(cluster: str, *args: Any, **named: Any) -> dict[str, Any]:
    """A run on another site's cluster, which no profile describes."""
    return {**run(*args, **named), "cluster": cluster, "project_id": "proj-2207"}


def whole_nodes(nodes: int, tasks: int = 8) -> dict[str, str]:
    """The spelling of LUMI's own example of a full-node job."""
    return {
        "--nodes": str(nodes),
        "--gpus-per-node": "8",
        "--ntasks-per-node": str(tasks),
        "--cpus-per-task": str(56 // tasks),
        "--mem": "480G",
    }


def clock(seconds: int) -> str:
    """Slurm's time: `D-HH:MM:SS`, without the days where there are none.

    >>> clock(93_600)
    '1-02:00:00'
    """
    days, rest = divmod(seconds, 24 * HOUR_S)
    text = f"{rest // HOUR_S:02d}:{rest % HOUR_S // MINUTE_S:02d}:{rest % MINUTE_S:02d}"
    return f"{days}-{text}" if days else text
