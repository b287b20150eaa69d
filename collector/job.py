"""What Slurm passes to its hooks about a job, as plain values: which run, whose, and which GPUs of this node."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


GPU_INDEX_MAX = 1023
"""No node has this many GPUs: a larger index is invalid, and a range up to it would cost memory and time."""


RAW_WISH = "kaiku:raw"
"""What a user writes into the comment of a job; nothing else is read from it."""


class NoGpuJob(Exception):
    """The hook was called for a job without a GPU on this node, or not by Slurm."""


class OddGpus(ValueError):
    """The job has GPUs on this node with numbers that cannot be read."""


def from_environment(environment: Mapping[str, str], cluster: str) -> dict[str, Any]:
    """The job of a prolog or epilog (slurm.conf, "Prolog and Epilog"); NoGpuJob if there is nothing to measure."""
    if not environment.get("SLURM_JOB_ID", "").isdigit():
        raise NoGpuJob("no SLURM_JOB_ID")
    names = ("SLURM_JOB_GPUS", "ROCR_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
    gpus = gpu_indices(next((environment[name] for name in names if environment.get(name)), ""))
    if not gpus:
        asked = environment.get("SLURM_JOB_GPUS", "")
        raise (OddGpus(f"SLURM_JOB_GPUS={asked[:60]!r} names no GPUs") if asked else NoGpuJob("no GPU"))
    node = node_name(environment)
    nodes = environment.get("SLURM_JOB_NODELIST") or environment.get("SLURM_NODELIST") or node
    return {
        "cluster": cluster or environment.get("SLURM_CLUSTER_NAME", ""),
        "job_id": int(environment["SLURM_JOB_ID"]),
        # In an epilog the count is already that of the next run, so only the prolog's is used.
        "attempt": whole(environment.get("SLURM_JOB_RESTART_COUNT")) or 0,
        "node": node,
        "is_first_node": first_node(nodes) == node,
        "node_count": whole(environment.get("SLURM_JOB_NUM_NODES")),
        "gpus": gpus,
        "cpu_threads": cpus_here(environment.get("SLURM_JOB_CPUS_PER_NODE", "")),
        "uid": whole(environment.get("SLURM_JOB_UID")) or 0,
        "sluid": environment.get("SLURM_JOB_SLUID", ""),
        "user": environment.get("SLURM_JOB_USER", ""),
        "account": environment.get("SLURM_JOB_ACCOUNT", ""),
        "partition": environment.get("SLURM_JOB_PARTITION", ""),
        "ntasks": whole(environment.get("SLURM_JOB_NTASKS")),
        # Since Slurm 23.02; a time limit that is raised later is not visible here.
        "ends_at_s": whole(environment.get("SLURM_JOB_END_TIME")),
        "is_raw_asked": RAW_WISH in environment.get("SLURM_JOB_COMMENT", "").replace(",", " ").split(),
        "array_job_id": whole(environment.get("SLURM_ARRAY_JOB_ID")),
        "array_task_id": whole(environment.get("SLURM_ARRAY_TASK_ID")),
    }


def node_name(environment: Mapping[str, str]) -> str:
    """Slurm's name of this node, otherwise the host's."""
    return environment.get("SLURMD_NODENAME") or os.uname().nodename.partition(".")[0]


def gpu_indices(written: str) -> list[int]:
    """Indices as Slurm writes them, each once; none where one of them is none.

    >>> gpu_indices("0,2-4"), gpu_indices("GPU-5f2"), gpu_indices(""), gpu_indices("0-30000000")
    ([0, 2, 3, 4], [], [], [])
    """
    indices: set[int] = set()
    for part in written.split(","):
        first, _, last = part.partition("-")
        low, high = whole(first), whole(last or first)
        if low is None or high is None or high > GPU_INDEX_MAX:
            return []
        indices.update(range(low, high + 1))
    return sorted(indices)


def first_node(nodes: str) -> str:
    """The first name of a node list: it sends the job's record.

    >>> first_node("nid[005002-005003,005007]"), first_node("nid005001,nid005004"), first_node("n[1-2]x")
    ('nid005002', 'nid005001', 'n1x')
    """
    name, rest = nodes, ""
    if "[" in nodes.split(",")[0]:
        name, _, rest = nodes.partition("[")
        inside, _, rest = rest.partition("]")
        name += inside.split(",")[0].split("-")[0]
    return (name.split(",")[0] if not rest else name) + rest.split(",")[0].split("[")[0]


def cpus_here(written: str) -> int | None:
    """Hardware threads on each node, where Slurm gave every node the same.

    >>> cpus_here("8(x2)"), cpus_here("64"), cpus_here("8,16"), cpus_here("")
    (8, 64, None, None)
    """
    return whole(written.partition("(")[0]) if "," not in written else None


def whole(written: str | None) -> int | None:
    """A number of at most 18 digits; None for anything else."""
    return int(written) if written and written.isdecimal() and len(written) < 19 else None
