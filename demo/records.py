"""The record of a sample job: its request in one of the spellings people use, and what Slurm made of it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from demo.archetypes import GRES, GRES_TYPED, PER_NODE, PER_TASK, TOTAL, Archetype
from jobs.records import SCHEMA
from jobs.sbatch import walltime_text
from jobs.site_profile import bundled_site

CLUSTER = "lumi"
# The sample jobs are LUMI's whichever site is chosen.
PARTITIONS = bundled_site("lumi").clusters[CLUSTER].partitions
LUMI_G = PARTITIONS["standard-g"].node

# First node and number of nodes of each partition (sinfo on LUMI, early 2026).
NODES = {"dev-g": (5001, 25), "small-g": (5026, 98), "standard-g": (5124, 2728)}

QUEUE_WAIT_MEAN_S = 2400.0
# Between the first signal at the limit and the last one a job may go on a little: slurm.conf(5), KillWait, 30 s.
OVERTIME_S_MAX = 30


@dataclass(frozen=True)
class Run:
    """When one run began and how long it and its limit were."""

    started_at: datetime
    elapsed_s: int
    walltime_s: int


def drawn_run(shape: Archetype, ended_at: datetime, rng: np.random.Generator) -> Run:
    """A run that ended at `ended_at`, to the second, with its limit and length drawn from the archetype."""
    walltime_s = round(float(rng.choice(shape.walltimes_h)) * 3600)
    elapsed_s = round(walltime_s * float(rng.uniform(*shape.used_fraction)))
    if shape.state == "TIMEOUT":
        elapsed_s += int(rng.integers(1, OVERTIME_S_MAX))
    return Run(ended_at.replace(microsecond=0) - timedelta(seconds=elapsed_s), elapsed_s, walltime_s)


def job_record(
    shape: Archetype, *, job_id: int, user: str, project: str, ended_at: datetime, rng: np.random.Generator
) -> dict[str, Any]:
    """The `job-record/1` payload of one run."""
    run = drawn_run(shape, ended_at, rng)
    waited_s = 60 + round(float(rng.exponential(QUEUE_WAIT_MEAN_S)))
    nodes = _node_names(shape, rng) if shape.has_started else []
    return {
        "schema": SCHEMA,
        "cluster": CLUSTER,
        "job_id": job_id,
        "attempt": shape.attempt,
        "array_job_id": None,
        "array_task_id": None,
        "user_id": user,
        "project_id": project,
        "job_name": str(rng.choice(shape.names)),
        "partition": shape.partition,
        "qos": "normal",
        "state": shape.state,
        "exit_code": shape.exit_code,
        "nodes": nodes,
        "node_count": len(nodes),
        "gpus_requested": shape.nodes * shape.gpus,
        "gpus_per_node": shape.gpus,
        "gpus_allocated": len(nodes) * shape.gpus,
        "ntasks": shape.nodes * shape.ranks_per_node,
        "cpus_allocated": len(nodes) * cores_per_node(shape),
        "cpus_per_task": shape.cores_per_rank,
        "memory_requested_gb": shape.nodes * memory_per_node_gb(shape),
        "walltime_requested_s": run.walltime_s,
        "walltime_used_s": run.elapsed_s,
        "submitted_at": instant(run.started_at - timedelta(seconds=waited_s)),
        "eligible_at": instant(run.started_at - timedelta(seconds=waited_s)),
        "started_at": instant(run.started_at) if shape.has_started else None,
        "ended_at": instant(run.started_at + timedelta(seconds=run.elapsed_s)),
        "request": options(shape, run.walltime_s, rng),
    }


def options(shape: Archetype, walltime_s: int, rng: np.random.Generator) -> dict[str, str]:
    """The request in one of the archetype's spellings of the GPUs, with one of two for the host memory."""
    is_total = (spelling := str(rng.choice(shape.spellings))) in (TOTAL, PER_TASK)
    ntasks, tasks_option = shape.ranks_per_node, "--ntasks-per-node"
    if is_total:
        ntasks, tasks_option = shape.nodes * shape.ranks_per_node, "--ntasks"
    return {
        "--partition": shape.partition,
        "--nodes": str(shape.nodes),
        **_gpu_option(shape, spelling),
        tasks_option: str(ntasks),
        "--cpus-per-task": str(shape.cores_per_rank),
        **_memory_option(shape, rng),
        "--time": walltime_text(walltime_s),
    }


def one_script(shape: Archetype, walltime_s: float) -> dict[str, str]:
    """The request spelled in the same way each time, as somebody does who keeps one script."""
    return {
        "--partition": shape.partition,
        "--nodes": str(shape.nodes),
        "--gpus-per-node": str(shape.gpus),
        "--ntasks-per-node": str(shape.ranks_per_node),
        "--cpus-per-task": str(shape.cores_per_rank),
        "--mem-per-gpu": f"{shape.memory_per_gpu_gb:g}G",
        "--time": walltime_text(walltime_s),
    }


def cores_per_node(shape: Archetype) -> int:
    """Physical cores that the job holds on each node: all of them where nodes are given whole."""
    return LUMI_G.cores if _is_exclusive(shape) else shape.ranks_per_node * shape.cores_per_rank


def memory_per_node_gb(shape: Archetype) -> float:
    return LUMI_G.host_memory_gb if _is_exclusive(shape) else shape.gpus * shape.memory_per_gpu_gb


def instant(moment: datetime) -> str:
    """RFC 3339 in UTC, to the second.

    >>> instant(datetime(2026, 11, 20, 12, 30, tzinfo=UTC))
    '2026-11-20T12:30:00Z'
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _is_exclusive(shape: Archetype) -> bool:
    partition = PARTITIONS.get(shape.partition)
    return partition is not None and partition.is_exclusive


def _gpu_option(shape: Archetype, spelling: str) -> dict[str, str]:
    values = {
        PER_NODE: ("--gpus-per-node", f"{shape.gpus}"),
        TOTAL: ("--gpus", f"{shape.nodes * shape.gpus}"),
        PER_TASK: ("--gpus-per-task", f"{shape.gpus // shape.ranks_per_node}"),
        GRES: ("--gres", f"gpu:{shape.gpus}"),
        GRES_TYPED: ("--gres", f"gpu:mi250:{shape.gpus}"),
    }
    return dict([values[spelling]])


def _memory_option(shape: Archetype, rng: np.random.Generator) -> dict[str, str]:
    """Per node or per GPU; jobs on whole nodes get all of it and need not say so."""
    is_per_node = bool(rng.integers(2))
    if _is_exclusive(shape):
        return {"--mem": "480G"} if is_per_node else {}
    if is_per_node:
        return {"--mem": f"{memory_per_node_gb(shape):g}G"}
    return {"--mem-per-gpu": f"{shape.memory_per_gpu_gb:g}G"}


def _node_names(shape: Archetype, rng: np.random.Generator) -> list[str]:
    first, count = NODES[shape.partition]
    offset = int(rng.integers(count - shape.nodes + 1))
    return [f"nid{first + offset + index:06d}" for index in range(shape.nodes)]
