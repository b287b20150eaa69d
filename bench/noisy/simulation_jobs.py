"""Job records of simulation runs: the options as the user wrote them, and what Slurm on LUMI allocates for them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NODE_GPUS, NODE_CORES, NODE_MEMORY_GB = 8, 56, 480.0
# Memory of a node's share where a shared partition got no memory option (DefMemPerNode of small-g, 65536 MB).
DEFAULT_MEMORY_GB = 64.0


def job(request: str, name: str, used_s: float, state: str = "COMPLETED", exit_code: str = "0:0") -> dict[str, Any]:
    """`job-record/1` fields, totals over all nodes, cores are physical. standard-g and --exclusive give whole nodes."""
    options = {name: value for name, _, value in (word.partition("=") for word in request.split())}
    nodes = int(options.get("--nodes", "1"))
    tasks = _tasks(options, nodes)
    per_task = int(options.get("--cpus-per-task", "1"))
    asked = _gpus(options, nodes, tasks)
    is_whole = options["--partition"] == "standard-g" or "--exclusive" in options
    gpus = NODE_GPUS * nodes if is_whole else asked
    cores = NODE_CORES * nodes if is_whole else tasks * per_task
    return {
        "state": state,
        "exit_code": exit_code,
        "job_name": name,
        "partition": options["--partition"],
        "qos": "normal",
        "node_count": nodes,
        "gpus_requested": asked,
        "gpus_allocated": gpus,
        "gpus_per_node": gpus // nodes,
        "ntasks": tasks,
        "cpus_allocated": cores,
        "cpus_per_task": per_task,
        "memory_requested_gb": _memory_gb(options, nodes, gpus, cores),
        "walltime_requested_s": seconds(options["--time"]),
        "walltime_used_s": used_s,
        "request": options,
    }


def codes(text: str) -> frozenset[str]:
    """Finding codes from words."""
    return frozenset(text.split())


def seconds(text: str) -> float:
    """Slurm's `[days-]hours:minutes:seconds` in seconds.

    >>> seconds("1-02:30:00")
    95400.0
    """
    days, _, clock = text.rpartition("-")
    hours, minutes, rest = (int(part) for part in clock.split(":"))
    return float(int(days or 0) * 86_400 + hours * 3600 + minutes * 60 + rest)


def _tasks(options: Mapping[str, str], nodes: int) -> int:
    if "--ntasks" in options:
        return int(options["--ntasks"])
    return int(options.get("--ntasks-per-node", "1")) * nodes


def _gpus(options: Mapping[str, str], nodes: int, tasks: int) -> int:
    """All GPUs that the request names, in whichever form."""
    if "--gpus" in options:
        return int(options["--gpus"])
    if "--gpus-per-task" in options:
        return int(options["--gpus-per-task"]) * tasks
    per_node = options.get("--gpus-per-node") or options.get("--gres", "0")
    return int(per_node.rpartition(":")[2]) * nodes


def _memory_gb(options: Mapping[str, str], nodes: int, gpus: int, cores: int) -> float:
    counts = {"--mem": nodes, "--mem-per-gpu": gpus, "--mem-per-cpu": cores}
    for option, count in counts.items():
        if option in options:
            return float(options[option].removesuffix("G")) * count
    return (NODE_MEMORY_GB if options["--partition"] == "standard-g" else DEFAULT_MEMORY_GB) * nodes
