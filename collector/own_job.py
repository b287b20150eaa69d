"""Whose run a user's own `run -- COMMAND` is: what Slurm passes to a job's own processes, or what the machine has.

Only variables that Slurm itself sets are read; nothing of the command or of the rest of the environment is stored.
"""

from __future__ import annotations

import os
import signal
import time

from collector.folder import boot_id, boottime_s
from collector.host import threads_per_core
from collector.job import NoGpuJob, from_environment, gpu_indices, node_name, whole
from collector.own_start import is_slurm
from collector.sources.amdgpu_sysfs import gpus_on_node

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from collector.config import Config

VISIBLE = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES")
CLOCK_S = 30.0
"""Slurm checks for overdue jobs twice a minute, and tells them to end shortly before their limit at the earliest."""

STEP_MAX = 1 << 31
"""Steps above are Slurm's own: the batch script, an interactive shell (slurm.h, SLURM_BATCH_SCRIPT and others)."""


def own_job(config: Config, environment: Mapping[str, str]) -> dict[str, Any]:
    """The run as a prolog would have recorded it; raises NoGpuJob if a Slurm job has no GPU on this node."""
    job = _by_slurm(config, environment) if is_slurm() else _by_machine(config, environment)
    on_node = gpus_on_node(config.sysfs_root)
    if job["gpus"] is None and on_node:
        job["gpus"] = list(range(on_node))
    return {
        **job,
        "started_at": time.time(),
        "started_boottime_s": boottime_s(),
        "boot_id": boot_id(config.proc_root),
        "is_whole_node": bool(on_node) and job["gpus"] is not None and len(job["gpus"]) == on_node,
        "threads_per_core": threads_per_core(config.sysfs_root),
    }


def _by_slurm(config: Config, environment: Mapping[str, str]) -> dict[str, Any]:
    # A task may see only one of the GPUs that its job has here; the job may use all of them.
    hooks_names = {"SLURM_JOB_RESTART_COUNT": "SLURM_RESTART_COUNT", "SLURM_JOB_NTASKS": "SLURM_NTASKS"}
    renamed = {**environment, **{theirs: environment.get(own, "") for theirs, own in hooks_names.items()}}
    try:
        return from_environment(renamed, config.cluster)
    except NoGpuJob as error:
        raise NoGpuJob("the job has no GPU on this node") from error


def _by_machine(config: Config, environment: Mapping[str, str]) -> dict[str, Any]:
    """A run without a scheduler: a number of its own, the GPUs in its environment variables, otherwise all of them."""
    node = node_name(environment)
    visible = next((environment[name] for name in VISIBLE if environment.get(name)), "")
    return {
        "cluster": config.cluster or node,
        "job_id": time.time_ns() // 10**6,
        "attempt": 0,
        "node": node,
        "node_count": 1,
        "gpus": gpu_indices(visible) or None,
        "cpu_threads": len(os.sched_getaffinity(0)),
        # There is no control group of a job, so none is searched for.
        "uid": -1,
        "sluid": "",
        "user": "",
        "account": "",
        "partition": "",
        "ntasks": None,
        "array_job_id": None,
        "array_task_id": None,
    }


def facts_of_run(
    job: Mapping[str, Any], environment: Mapping[str, str], status: int, signals: frozenset[int]
) -> dict[str, Any]:
    """What the portal needs of a run without a job record.

    `status` is the command's, as wait(2) gives it; `signals` are those that its run received meanwhile.
    """
    begins, ends = (whole(environment.get(f"SLURM_JOB_{name}_TIME")) for name in ("START", "END"))
    nodes, gpus = job["node_count"] or 1, len(job["gpus"])
    allocated = nodes * gpus if nodes == 1 or job["is_whole_node"] else _gpus_of_job(environment, nodes)
    cores = None if job["cpu_threads"] is None else -(-job["cpu_threads"] // job["threads_per_core"])
    known = {
        "user_id": job["user"] or None,
        "project_id": job["account"] or None,
        "job_name": environment.get("SLURM_JOB_NAME") or None,
        "partition": job["partition"] or None,
        "state": _state(status, ends, signals),
        "exit_code": f"{status >> 8 & 0xFF}:{status & 0x7F}",
        "node_count": nodes,
        "gpus_allocated": allocated,
        "ntasks": job["ntasks"],
        "cpus_allocated": cores if nodes == 1 else None,
        "walltime_requested_s": float(ends - begins) if begins and ends and ends > begins else None,
        "array_job_id": job["array_job_id"],
        "array_task_id": job["array_task_id"],
    }
    return {name: value for name, value in known.items() if value is not None}


def _state(status: int, ends_at_s: int | None, signals: frozenset[int]) -> str:
    """How Slurm would name the end: it ends a job by a signal, at its time limit or before."""
    if signal.SIGTERM in signals and is_slurm():
        return "TIMEOUT" if ends_at_s and time.time() >= ends_at_s - CLOCK_S else "CANCELLED"
    return "COMPLETED" if status == 0 else "FAILED"


def _gpus_of_job(environment: Mapping[str, str], nodes: int) -> int | None:
    """GPUs of a job on parts of several nodes, if its request states how many."""
    total, per_node = (environment.get(name, "").rpartition(":")[2] for name in ("SLURM_GPUS", "SLURM_GPUS_PER_NODE"))
    if total.isdecimal():
        return int(total)
    return int(per_node) * nodes if per_node.isdecimal() else None


def step(environment: Mapping[str, str]) -> str:
    """What tasks of one step on one node have in common; empty if there is no step."""
    if not is_slurm() or whole(environment.get("SLURM_STEP_ID")) is None:
        return ""
    return f"{environment['SLURM_JOB_ID']}.{environment['SLURM_STEP_ID']}.{node_name(environment)}"


def file_name(job: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """The name of the kept summary, without its suffix: the job, its step if it has one, and the node."""
    step = whole(environment.get("SLURM_STEP_ID"))
    job_id = f"{job['job_id']}.{step}" if step is not None and step < STEP_MAX else job["job_id"]
    return f"kaiku-{job_id}-{job['node']}"
