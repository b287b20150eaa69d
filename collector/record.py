"""The `job-record/1` payload from `scontrol show job`, by the first node of a job after its epilog.

Slurm's controller is asked once or a few times per job, never per node, and never while the epilog waits. Where it
does not answer, what the epilog knew goes out alone: accounting completes it.
"""

from __future__ import annotations

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
GPU_REQUESTS = {
    "TresPerJob": "--gpus",
    "TresPerNode": "--gpus-per-node",
    "TresPerTask": "--gpus-per-task",
    "TresPerSocket": "--gpus-per-socket",
}
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
            return {**known, **by_slurm(shown, job, _hostnames(scontrol, shown.get("NodeList", "")))}
    return known


def by_slurm(shown: Mapping[str, str], job: Mapping[str, Any], nodes: list[str]) -> dict[str, Any]:
    """What the fields of `scontrol show job -o` say; a field that is not there says nothing."""
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
        "gpus_allocated": gpu_count(held),
        "gpus_requested": gpu_count(asked),
        "array_job_id": _whole(shown.get("ArrayJobId")),
        "array_task_id": _whole(shown.get("ArrayTaskId")),
        "ntasks": _whole(shown.get("NumTasks")),
        "cpus_per_task": _whole(shown.get("CPUs/Task")),
        "cpus_allocated": None if threads is None else -(-threads // job["threads_per_core"]),
        "memory_requested_gb": _memory_gb(held.get("mem", "")),
        "walltime_requested_s": seconds(shown.get("TimeLimit", "")),
        "walltime_used_s": seconds(shown.get("RunTime", "")),
        "submitted_at": _instant(shown.get("SubmitTime", "")),
        "started_at": _instant(shown.get("StartTime", "")),
        "ended_at": _instant(shown.get("EndTime", "")),
        "request": request(shown) or None,
    }
    return {name: value for name, value in found.items() if value is not None}


def request(shown: Mapping[str, str]) -> dict[str, str]:
    """The resource options as far as Slurm still shows how they were written.

    >>> request({"TresPerNode": "gres:gpu:mi250:8", "TimeLimit": "04:00:00", "Partition": "small-g"})
    {'--gpus-per-node': 'mi250:8', '--time': '04:00:00', '--partition': 'small-g'}
    """
    options = {}
    for field, option in GPU_REQUESTS.items():
        for part in shown.get(field, "").split(","):
            kind, separator, count = part.replace("gres/", "gres:").replace("=", ":").partition("gpu:")
            if separator and kind in ("gres:", ""):
                options[option] = count
    if seconds(shown.get("TimeLimit", "")) is not None:
        options["--time"] = shown["TimeLimit"]
    if shown.get("Partition"):
        options["--partition"] = shown["Partition"]
    return options


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
