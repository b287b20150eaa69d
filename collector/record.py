"""The `job-record/1` payload from `scontrol show job`, by the first node of a job after its epilog.

Slurm's controller is asked once or a few times per job, never per node, and never while the epilog waits. Where it
does not answer, what the epilog knew goes out alone: accounting completes it.
"""

from __future__ import annotations

import re
import time
from datetime import datetime, timezone

from collector.commands import output
from collector.summary import instant
from collector.wire import JOB_RECORD

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

ASK_TIMEOUT_S = 10.0
# A job shows COMPLETING until every node's epilog is over; these pauses end a minute after the first one's.
PAUSES_S = (0.5, 1, 2, 4, 8, 15, 30)
UNFINISHED = frozenset("COMPLETING RUNNING CONFIGURING PENDING STAGE_OUT SUSPENDED".split())
# scontrol's name of a request -> sbatch's, where the value is a GPU count: scontrol(1), sbatch(1), Slurm 22.05-24.11.
# --gres=gpu:N is shown as TresPerNode too, and means the same as --gpus-per-node.
GPU_REQUESTS = {
    "TresPerJob": "--gpus",
    "TresPerNode": "--gpus-per-node",
    "TresPerTask": "--gpus-per-task",
    "TresPerSocket": "--gpus-per-socket",
}
# What --exclusive, or a partition of whole nodes, makes of OverSubscribe; "OK" is no wish, "YES" is --oversubscribe.
# "USER" and "MCS" share a node with some and are billed by what they hold: neither yes nor no. scontrol(1), 22.05.
WHOLE_NODES = {"NO": True, "OK": False, "YES": False}
RANGE = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?")
MEMORY = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,6})?[KMGTP]?")
GB_OF_UNIT = {"K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}


def job_record(job: Mapping[str, Any], scontrol: str, pauses_s: tuple[float, ...] = PAUSES_S) -> dict[str, Any]:
    """The record of a run that ended on this node, by Slurm where it answers, else by the hooks."""
    known = _by_hooks(job)
    for pause_s in pauses_s if scontrol else ():
        time.sleep(pause_s)
        shown = _shown(scontrol, job["job_id"])
        if shown is None:
            break
        if shown.get("Restarts", str(job["attempt"])) != str(job["attempt"]):
            return {**known, "state": "REQUEUED"}
        if shown.get("JobState") not in UNFINISHED:
            nodes = _hostnames(scontrol, shown.get("NodeList", ""))
            return {**known, **by_slurm(shown, job, nodes, _defaults(scontrol, job["partition"]))}
    return known


def by_slurm(
    shown: Mapping[str, str], job: Mapping[str, Any], nodes: list[str], defaults: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """What the fields of `scontrol show job` say; a field that is not there says nothing.

    `defaults` are the fields of its partition, as far as Slurm told them.
    """
    held = _tres(shown.get("AllocTRES") or shown.get("TRES") or "")
    asked = _tres(shown.get("ReqTRES") or "") if "AllocTRES" in shown else {}
    threads = _whole(held.get("cpu") or shown.get("NumCPUs"))
    found = {
        "state": shown.get("JobState"),
        "exit_code": shown.get("ExitCode"),
        "job_name": shown.get("JobName"),
        "partition": shown.get("Partition"),
        "qos": shown.get("QOS"),
        "nodes": nodes or None,
        "node_count": _whole(held.get("node") or shown.get("NumNodes")),
        # Up to Slurm 22.05 nothing tells what was asked for once the job has begun: then what it was given.
        "nodes_requested": _whole(asked.get("node")) or _least(shown.get("NumNodes", "")),
        "is_exclusive": WHOLE_NODES.get(shown.get("OverSubscribe", "")),
        "gpus_allocated": gpu_count(held),
        "gpus_requested": gpu_count(asked),
        "array_job_id": _whole(shown.get("ArrayJobId")),
        "array_task_id": _whole(shown.get("ArrayTaskId")),
        "ntasks": _whole(shown.get("NumTasks")),
        "ntasks_per_node": _tasks_per_node(shown),
        "cpus_per_task": _whole(shown.get("CPUs/Task")),
        "cpus_allocated": None if threads is None else -(-threads // job["threads_per_core"]),
        "memory_requested_gb": _memory_gb(held.get("mem", "")),
        "walltime_requested_s": seconds(shown.get("TimeLimit", "")),
        "walltime_used_s": seconds(shown.get("RunTime", "")),
        "submitted_at": _instant(shown.get("SubmitTime", "")),
        "started_at": _instant(shown.get("StartTime", "")),
        "ended_at": _instant(shown.get("EndTime", "")),
        "request": request(shown, defaults) or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def request(shown: Mapping[str, str], defaults: Mapping[str, str] | None = None) -> dict[str, str]:
    """The resource options as far as Slurm still shows how they were written.

    Slurm shows one task, one core a task and one node, and one task a node, where nobody asked for any; memory and
    cores a GPU where the partition has a default (one that slurm.conf sets for all partitions cannot be told from a
    wish). Such values are left out. --time and --partition are always said: nearly everybody writes them.

    >>> request({"TresPerNode": "gres:gpu:mi250:8", "TimeLimit": "04:00:00", "Partition": "small-g"})
    {'--gpus-per-node': 'mi250:8', '--time': '04:00:00', '--partition': 'small-g'}
    """
    options = _shape_request(shown)
    for field, option in GPU_REQUESTS.items():
        count = _gpu_value(shown.get(field, ""))
        if count:
            options[option] = count
    options.update(_share_request(shown, defaults or {}))
    # Whole nodes of a partition that gives no others were not asked for.
    if shown.get("OverSubscribe") == "NO" and defaults and defaults.get("OverSubscribe") != "EXCLUSIVE":
        options["--exclusive"] = ""
    if seconds(shown.get("TimeLimit", "")) is not None:
        options["--time"] = shown["TimeLimit"]
    if shown.get("Partition"):
        options["--partition"] = shown["Partition"]
    return options


def _shape_request(shown: Mapping[str, str]) -> dict[str, str]:
    """Nodes, tasks and cores a task, where they are not what Slurm takes without being asked."""
    options = {}
    nodes = RANGE.fullmatch(shown.get("NumNodes", ""))
    least = int(nodes[1]) if nodes else 1
    most = int(nodes[2] or nodes[1]) if nodes else 1
    if most > 1:
        options["--nodes"] = str(least) if least == most else f"{least}-{most}"
    tasks, per_node = _whole(shown.get("NumTasks")), _tasks_per_node(shown)
    # sbatch refuses GPUs per task without a number of tasks.
    if tasks and (tasks != least * (per_node or 1) or (_gpu_value(shown.get("TresPerTask", "")) and not per_node)):
        options["--ntasks"] = str(tasks)
    if per_node:
        options["--ntasks-per-node"] = str(per_node)
    cores = _whole(shown.get("CPUs/Task"))
    if cores and cores > 1:
        options["--cpus-per-task"] = str(cores)
    return options


def _share_request(shown: Mapping[str, str], defaults: Mapping[str, str]) -> dict[str, str]:
    """Memory, and cores a GPU, where they are not the partition's defaults; memory 0 is all of a node."""
    by_gpu = _tres(defaults.get("JobDefaults", ""))
    options = {}
    cores = _gpu_value(shown.get("CpusPerTres", ""))
    if cores.isdigit() and cores != by_gpu.get("DefCpuPerGPU"):
        options["--cpus-per-gpu"] = cores
    per_gpu = _gpu_value(shown.get("MemPerTres", ""))
    if MEMORY.fullmatch(per_gpu) and _memory_gb(per_gpu) != _memory_gb(by_gpu.get("DefMemPerGPU", "")):
        options["--mem-per-gpu"] = _spelled(per_gpu)
    for field, option, default in (
        ("MinMemoryNode", "--mem", defaults.get("DefMemPerNode")),
        ("MinMemoryCPU", "--mem-per-cpu", defaults.get("DefMemPerCPU")),
    ):
        written = shown.get(field, "")
        if not MEMORY.fullmatch(written) or per_gpu:
            continue
        # Without a default, or with an unknown one, all of a node's memory is what everybody gets.
        usual_gb = _memory_gb(default or "") or 0.0
        if _memory_gb(written) != usual_gb:
            options[option] = _spelled(written)
    return options


def _gpu_value(written: str) -> str:
    """What stands behind `gres:gpu:`, `gres/gpu:` or `gres/gpu=` of a list; empty where there are no GPUs in it."""
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
    gigabytes = _memory_gb(memory) or 0.0
    if gigabytes and gigabytes.is_integer():
        return f"{gigabytes:.0f}G"
    return f"{memory}M" if memory.isdigit() and memory != "0" else memory


def _tasks_per_node(shown: Mapping[str, str]) -> int | None:
    """The first of `NtasksPerN:B:S:C=8:0:*:*`; 0 and * are no wish."""
    return _whole(shown.get("NtasksPerN:B:S:C", "").partition(":")[0]) or None


def _least(nodes: str) -> int | None:
    """The smaller number of a range of nodes such as `2-4`."""
    found = RANGE.fullmatch(nodes)
    return int(found[1]) if found else None


def seconds(clock: str) -> float | None:
    """Seconds of `[days-]hours:minutes:seconds`; None for UNLIMITED and the like.

    >>> seconds("1-02:00:30"), seconds("00:05:00"), seconds("UNLIMITED")
    (93630.0, 300.0, None)
    """
    days, _, rest = clock.rpartition("-")
    parts = rest.split(":")
    if len(parts) != 3 or not all(part.isdigit() for part in [*parts, days or "0"]):
        return None
    hours, minutes, last = (int(part) for part in parts)
    return float(((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + last)


def gpu_count(tres: Mapping[str, str]) -> int | None:
    """The untyped count, the typed ones where it is absent, never both; None for an empty list."""
    if not tres:
        return None
    if "gres/gpu" in tres:
        return _whole(tres["gres/gpu"])
    return sum(_whole(count) or 0 for name, count in tres.items() if name.startswith("gres/gpu:"))


def _by_hooks(job: Mapping[str, Any]) -> dict[str, Any]:
    """What prolog and epilog knew. The exit status tells only whether all was well."""
    copied = ("cluster", "job_id", "attempt", "partition", "node_count", "ntasks", "array_job_id", "array_task_id")
    status = job["exit_status"]
    known = {
        "schema": JOB_RECORD,
        **{name: job[name] for name in copied},
        "user_id": job["user"],
        "project_id": job["account"],
        "state": "COMPLETED" if status == 0 else "FAILED",
        "exit_code": f"{status >> 8 & 0xFF}:{status & 0x7F}",
        "started_at": instant(job["started_at"]),
        "ended_at": instant(job["ended_at"]),
    }
    return {name: value for name, value in known.items() if value is not None}


def _shown(scontrol: str, job_id: int) -> dict[str, str] | None:
    """The fields of one job, None where Slurm does not answer or no longer knows it."""
    return fields_of(_run([scontrol, "show", "job", str(job_id)]), job_id)


def fields_of(text: str, job_id: int) -> dict[str, str] | None:
    """One job among those shown: an array's id shows every task, a heterogeneous job's every part.

    Names, comments and paths are the user's and may look like fields or jobs of their own. Whose job it is comes from
    the hooks; a field that is said twice, with different values, says nothing, and neither does a job shown twice.
    """
    blocks = [block.partition("\n") for block in f"\n{text}".split("\nJobId=")[1:]]
    ours = [(first, rest) for first, _, rest in blocks if first.partition(" ")[0] == str(job_id)]
    if len(ours) != 1:
        return None
    before, _, name = ours[0][0].partition("JobName=")
    said: dict[str, set[str]] = {}
    for word in [*before.split(), *ours[0][1].split()]:
        field, separator, value = word.partition("=")
        if separator:
            said.setdefault(field, set()).add(value)
    # Slurm calls what was held TRES up to 22.05 and AllocTRES since: one of them is made up where both are there.
    if {"TRES", "AllocTRES"} <= said.keys():
        del said["TRES"], said["AllocTRES"]
    known = {field: next(iter(values)) for field, values in said.items() if len(values) == 1}
    return {**known, "JobName": name}


def _defaults(scontrol: str, partition: str | None) -> dict[str, str]:
    """The fields of a partition, which its administrators wrote; empty where Slurm does not tell."""
    shown = _run([scontrol, "show", "partition", partition]) if partition else ""
    if not shown.startswith(f"PartitionName={partition}\n"):
        return {}
    return {field: value for field, _, value in (word.partition("=") for word in shown.split())}


def _hostnames(scontrol: str, nodes: str) -> list[str]:
    return _run([scontrol, "show", "hostnames", nodes]).split() if nodes not in ("", "(null)") else []


def _run(command: list[str]) -> str:
    """What a command printed, empty where it failed or took too long."""
    try:
        status, printed = output(command, ASK_TIMEOUT_S, TZ="UTC")
    except OSError:
        return ""
    return printed if status == 0 else ""


def _tres(written: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in written.split(","))
    return {name: value for name, separator, value in pairs if separator}


def _memory_gb(written: str) -> float | None:
    unit = written[-1:].upper()
    try:
        return float(written.rstrip("KMGTP")) * GB_OF_UNIT.get(unit, GB_OF_UNIT["M"])
    except ValueError:
        return None


def _instant(written: str) -> str | None:
    """A time that scontrol printed under TZ=UTC."""
    try:
        return instant(datetime.fromisoformat(written).replace(tzinfo=timezone.utc).timestamp())
    except ValueError:
        return None


def _whole(written: str | None) -> int | None:
    return int(written) if written and written.isdigit() else None
