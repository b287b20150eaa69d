"""The `job-record/1` payload from Slurm's data about a job, made by the job's first node after its epilog.

Slurm's controller is queried once or a few times per job, never per node, and never while the epilog waits. The query
contains fields without text of the user, each ended by a special mark, and the job's name separately, so that no name
can look like a field. If Slurm does not answer, the data of the epilog are sent alone, and accounting completes them.
"""

from __future__ import annotations

import json
import re
from datetime import datetime, timezone

from collector import asking
from collector.asking import RANGE, least, memory_gb, tres
from collector.job import whole
from collector.summary import instant
from wire.payloads import JOB_RECORD
from wire.times import walltime_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

NODES_MAX = 20_000  # as many as a record may name (jobs/records.py)
RECORD_BYTES_MAX = 1 << 19
# scontrol's name of a request -> sbatch's, where the value is a GPU count: scontrol(1), sbatch(1), Slurm 22.05-24.11.
# --gres=gpu:N is shown as TresPerNode too, and means the same as --gpus-per-node.
GPU_REQUESTS = {
    "TresPerJob": "--gpus",
    "TresPerNode": "--gpus-per-node",
    "TresPerTask": "--gpus-per-task",
    "TresPerSocket": "--gpus-per-socket",
}
# The values of OverSubscribe for --exclusive, or for a partition of whole nodes; "OK" is not a request, "YES" is
# --oversubscribe. "USER" and "MCS" share a node with some jobs and are billed by their allocation: neither yes nor no.
# scontrol(1), 22.05.
WHOLE_NODES = {"NO": True, "OK": False, "YES": False}
MEMORY = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,6})?[KMGTP]?")


class Unfinished(Exception):
    """The job is still completing; Slurm should be queried again."""


def job_record(job: Mapping[str, Any], scontrol: str, squeue: str) -> dict[str, Any]:
    """The record of a run that ended on this node, from Slurm if it answers, otherwise from the hooks.

    Raises Unfinished while some node of the job is still in its epilog.
    """
    known = by_hooks(job)
    shown = asking.shown(squeue, job["job_id"]) if scontrol and squeue else None
    if shown is None:
        return known
    if shown.get("Restarts", str(job["attempt"])) != str(job["attempt"]):
        return {**known, "state": "REQUEUED"}
    if shown.get("JobState") in asking.UNFINISHED:
        raise Unfinished(shown["JobState"])
    name = asking.name(squeue, job["job_id"])
    told = by_slurm(
        {**shown, "JobName": name}, job, asking.hostnames(scontrol, shown), asking.defaults(scontrol, job["partition"])
    )
    # Slurm's list of nodes counts, even if it names none.
    return within_bounds({**{name: value for name, value in known.items() if name != "nodes"}, **told})


def within_bounds(record: dict[str, Any]) -> dict[str, Any]:
    """A record that is small enough: without the names of its nodes if it would otherwise be too large."""
    if len(record.get("nodes", ())) <= NODES_MAX and len(json.dumps(record)) <= RECORD_BYTES_MAX:
        return record
    return {name: value for name, value in record.items() if name != "nodes"}


def by_slurm(
    shown: Mapping[str, str], job: Mapping[str, Any], nodes: list[str], defaults: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The content of the fields that Slurm shows for a job; a missing field adds nothing.

    `defaults` are the fields of its partition, as far as Slurm reported them.
    """
    held = tres(shown.get("AllocTRES") or shown.get("TRES") or "")
    asked = tres(shown.get("ReqTRES") or "") if "AllocTRES" in shown else {}
    threads = whole(held.get("cpu") or shown.get("NumCPUs"))
    found = {
        "state": shown.get("JobState"),
        "exit_code": _exit_code(shown.get("ExitCode", "")),
        "job_name": shown.get("JobName") or None,
        "partition": shown.get("Partition"),
        "qos": shown.get("QOS"),
        "nodes": nodes or None,
        "node_count": whole(held.get("node") or shown.get("NumNodes")),
        # Up to Slurm 22.05 the request is not available once the job has begun: then the allocation is used.
        "nodes_requested": whole(asked.get("node")) or least(shown.get("NumNodes", "")),
        "is_exclusive": WHOLE_NODES.get(shown.get("OverSubscribe", "")),
        "gpus_allocated": gpu_count(held),
        "gpus_requested": gpu_count(asked),
        **_array(shown),
        "ntasks": whole(shown.get("NumTasks")),
        "ntasks_per_node": _tasks_per_node(shown),
        "cpus_per_task": whole(shown.get("CPUs/Task")),
        "cpus_allocated": None if threads is None else -(-threads // job["threads_per_core"]),
        "memory_requested_gb": memory_gb(held.get("mem", "")),
        "walltime_requested_s": seconds(shown.get("TimeLimit", "")),
        "walltime_used_s": seconds(shown.get("RunTime", "")),
        "submitted_at": _instant(shown.get("SubmitTime", "")),
        "eligible_at": _instant(shown.get("EligibleTime", "")),
        "started_at": _instant(shown.get("StartTime", "")),
        "ended_at": _instant(shown.get("EndTime", "")),
        "request": request(shown, defaults) or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def _array(shown: Mapping[str, str]) -> dict[str, int | None]:
    """Which task of which array; for a job without an array squeue shows the job's own number as the array's."""
    task = whole(shown.get("ArrayTaskId"))
    return {"array_job_id": None if task is None else whole(shown.get("ArrayJobId")), "array_task_id": task}


def request(shown: Mapping[str, str], defaults: Mapping[str, str] | None = None) -> dict[str, str]:
    """The resource options, as far as Slurm still shows how they were written.

    Slurm shows one task, one core per task and one node, and one task per node, even if they were not requested; also
    memory and cores per GPU if the partition has a default (one that slurm.conf sets for all partitions cannot be
    distinguished from a request). Such values are left out. --time and --partition are always included, because
    nearly everybody writes them.

    >>> request({"TresPerNode": "gres:gpu:mi250:8", "TimeLimit": "04:00:00", "Partition": "small-g"})
    {'--gpus-per-node': 'mi250:8', '--time': '04:00:00', '--partition': 'small-g'}
    """
    options = _shape_request(shown)
    for field, option in GPU_REQUESTS.items():
        count = _gpu_value(shown.get(field, ""))
        if count:
            options[option] = count
    options.update(_share_request(shown, defaults or {}))
    # Whole nodes in a partition that always allocates whole nodes were not requested.
    if shown.get("OverSubscribe") == "NO" and defaults and defaults.get("OverSubscribe") != "EXCLUSIVE":
        options["--exclusive"] = ""
    limit_s = seconds(shown.get("TimeLimit", ""))
    if limit_s is not None:
        options["--time"] = walltime_text(limit_s)
    if shown.get("Partition"):
        options["--partition"] = shown["Partition"]
    return options


def _shape_request(shown: Mapping[str, str]) -> dict[str, str]:
    """Nodes, tasks and cores per task, if they are not Slurm's defaults."""
    options = {}
    nodes = RANGE.fullmatch(shown.get("NumNodes", ""))
    least = int(nodes[1]) if nodes else 1
    most = int(nodes[2] or nodes[1]) if nodes else 1
    if most > 1:
        options["--nodes"] = str(least) if least == most else f"{least}-{most}"
    tasks, per_node = whole(shown.get("NumTasks")), _tasks_per_node(shown)
    # sbatch rejects GPUs per task without a number of tasks.
    if tasks and (tasks != least * (per_node or 1) or (_gpu_value(shown.get("TresPerTask", "")) and not per_node)):
        options["--ntasks"] = str(tasks)
    if per_node:
        options["--ntasks-per-node"] = str(per_node)
    cores = whole(shown.get("CPUs/Task"))
    if cores and cores > 1:
        options["--cpus-per-task"] = str(cores)
    return options


def _share_request(shown: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Memory, and cores per GPU, if they are not the partition's defaults; memory 0 is all of a node."""
    by_gpu = tres(defaults.get("JobDefaults", ""))
    options = {}
    cores = _gpu_value(shown.get("CpusPerTres", ""))
    if cores.isdigit() and cores != by_gpu.get("DefCpuPerGPU"):
        options["--cpus-per-gpu"] = cores
    per_gpu = _gpu_value(shown.get("MemPerTres", ""))
    if MEMORY.fullmatch(per_gpu) and memory_gb(per_gpu) != memory_gb(by_gpu.get("DefMemPerGPU", "")):
        options["--mem-per-gpu"] = _spelled(per_gpu)
    given = (
        ("MinMemoryNode", "--mem", defaults.get("DefMemPerNode")),
        ("MinMemoryCPU", "--mem-per-cpu", defaults.get("DefMemPerCPU")),
    )
    asked = []
    for field, option, default in given:
        written = shown.get(field, "")
        if not MEMORY.fullmatch(written) or per_gpu:
            continue
        # Without a default, or with an unknown one, every job gets all of a node's memory.
        if memory_gb(written) == (memory_gb(default or "") or 0.0):
            return options
        asked.append((option, _spelled(written)))
    # If an amount may be either, the first is as good as the other.
    options.update(asked[:1])
    return options


def _gpu_value(written: str) -> str:
    """The text after `gres:gpu:`, `gres/gpu:` or `gres/gpu=` in a list; empty if it contains no GPUs."""
    found = ""
    for part in written.split(","):
        kind, separator, value = part.replace("gres/", "gres:").replace("=", ":").partition("gpu:")
        if separator and kind in ("gres:", ""):
            found = value
    return found


def _spelled(memory: str) -> str:
    """An amount of memory in whole GiB where it is one; a bare number is MiB.

    >>> _spelled("61440"), _spelled("29000M"), _spelled("60G")
    ('60G', '29000M', '60G')
    """
    gigabytes = memory_gb(memory) or 0.0
    if gigabytes and gigabytes.is_integer():
        return f"{gigabytes:.0f}G"
    return f"{memory}M" if memory.isdigit() and memory != "0" else memory


def _tasks_per_node(shown: Mapping[str, str]) -> int | None:
    """The first of `NtasksPerN:B:S:C=8:0:*:*`; 0 and * mean that nothing was requested."""
    return whole(shown.get("NtasksPerN:B:S:C", "").partition(":")[0]) or None


def seconds(clock: str) -> float | None:
    """Seconds of `[days-][hours:]minutes:seconds`; None for UNLIMITED and the like.

    >>> seconds("1-02:00:30"), seconds("5:00"), seconds("UNLIMITED")
    (93630.0, 300.0, None)
    """
    days, _, rest = clock.rpartition("-")
    parts = rest.split(":")
    if len(parts) not in (2, 3) or not all(part.isdecimal() and len(part) < 9 for part in [*parts, days or "0"]):
        return None
    hours, minutes, last = (int(part) for part in ["0", *parts][-3:])
    return float(((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + last)


def gpu_count(tres: Mapping[str, str]) -> int | None:
    """The untyped count, the typed ones if it is absent, never both; None for an empty list."""
    if not tres:
        return None
    if "gres/gpu" in tres:
        return whole(tres["gres/gpu"])
    return sum(whole(count) or 0 for name, count in tres.items() if name.startswith("gres/gpu:"))


def by_hooks(job: Mapping[str, Any]) -> dict[str, Any]:
    """The data of prolog and epilog. The exit status only shows whether there was an error."""
    copied = ("cluster", "job_id", "attempt", "partition", "node_count", "ntasks", "array_job_id", "array_task_id")
    status = job["exit_status"]
    known = {
        "schema": JOB_RECORD,
        "nodes": [job["node"]] if job["node_count"] == 1 else None,
        **{name: job[name] for name in copied},
        "user_id": job["user"],
        "project_id": job["account"],
        "state": "COMPLETED" if status == 0 else "FAILED",
        "exit_code": _exit_code(str(status)),
        "started_at": instant(job["started_at"]),
        "ended_at": instant(job["ended_at"]),
    }
    return {name: value for name, value in known.items() if value is not None}


def _exit_code(written: str) -> str | None:
    """Status and signal; squeue shows a wait status in one number, as wait(2) gives it.

    Slurm's own numbers above 4000 are treated the same way, as in scontrol and sacct: with a signal there is no status.

    >>> _exit_code("768"), _exit_code("11"), _exit_code("4021"), _exit_code("3:0"), _exit_code("")
    ('3:0', '0:11', '0:53', '3:0', None)
    """
    status = whole(written)
    if status is None:
        return written or None
    signal = status & 0x7F
    return f"{0 if signal else status >> 8 & 0xFF}:{signal}"


def _instant(written: str) -> str | None:
    """A time that scontrol printed under TZ=UTC."""
    try:
        return instant(datetime.fromisoformat(written).replace(tzinfo=timezone.utc).timestamp())
    except ValueError:
        return None
