"""Queries to Slurm about a job, in a form in which no field contains text of the user besides its own.

Every field is one that Slurm writes itself, ended by a special mark. The name, which the user chose, is queried
separately and ends where its field ends. Partitions and host names are the administrators' text.
"""

from __future__ import annotations

import re

from collector.commands import output
from collector.job import whole
from wire.names import NOTHING

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ASK_TIMEOUT_S = 10.0
NAME_LENGTH_MAX = 256
MARK = "|"
# squeue's name of a field -> scontrol's name, which the rest of this module uses: squeue(1), 22.05 to 25.11. None of
# them can contain text of the user: Slurm itself writes each of them, from numbers and its own names.
COLUMNS = {
    "JobID": "JobId",
    "ArrayJobID": "ArrayJobId",
    "ArrayTaskID": "ArrayTaskId",
    "State": "JobState",
    "RestartCnt": "Restarts",
    "exit_code": "ExitCode",
    "Partition": "Partition",
    "QOS": "QOS",
    "NumNodes": "NumNodes",
    "NumTasks": "NumTasks",
    "NumCPUs": "NumCPUs",
    "cpus-per-task": "CPUs/Task",
    "ntpernode": "NtasksPerN:B:S:C",
    "cpus-per-tres": "CpusPerTres",
    "mem-per-tres": "MemPerTres",
    "MinMemory": "MinMemory",
    "tres-per-job": "TresPerJob",
    "tres-per-node": "TresPerNode",
    "tres-per-socket": "TresPerSocket",
    "tres-per-task": "TresPerTask",
    "tres-alloc": "AllocTRES",
    "TimeLimit": "TimeLimit",
    "TimeUsed": "RunTime",
    "OverSubscribe": "OverSubscribe",
    "SubmitTime": "SubmitTime",
    "EligibleTime": "EligibleTime",
    "StartTime": "StartTime",
    "EndTime": "EndTime",
    "NodeList": "NodeList",
}
FORMAT = ",".join(f"{column}:{MARK}" for column in COLUMNS)
UNFINISHED = frozenset("COMPLETING RUNNING CONFIGURING PENDING STAGE_OUT SUSPENDED".split())
RANGE = re.compile(r"([0-9]{1,7})(?:-([0-9]{1,7}))?")
GB_OF_UNIT = {"K": 2.0**-20, "M": 2.0**-10, "G": 1.0, "T": 2.0**10, "P": 2.0**20}


def shown(squeue: str, job_id: int) -> dict[str, str] | None:
    """The fields of one job; None if Slurm does not answer or no longer knows it."""
    return fields_of(_run([squeue, *_of(job_id), f"--Format={FORMAT}"]), job_id)


def fields_of(text: str, job_id: int) -> dict[str, str] | None:
    """One job among those shown: an array's id shows every task, a heterogeneous job's id every component."""
    rows = [line.split(MARK) for line in text.splitlines()]
    # Every field ends with the mark, so nothing follows the last one.
    ours = [row for row in rows if row[0] == str(job_id) and len(row) == len(COLUMNS) + 1 and row[-1] == ""]
    if len(ours) != 1:
        return None
    said = {name: value for name, value in zip(COLUMNS.values(), ours[0]) if value not in NOTHING}
    return _with_memory(said)


def _with_memory(said: dict[str, str]) -> dict[str, str]:
    """squeue has one field for memory per node and memory per core: which of them it is follows from what was
    allocated.

    If both would give the same (one core per node) it may be either; if neither does, the field is ignored.
    """
    amount, held = said.pop("MinMemory", ""), tres(said.get("AllocTRES", ""))
    amount_gb, given_gb = memory_gb(amount), memory_gb(held.get("mem", ""))
    cores, nodes = whole(held.get("cpu")), whole(held.get("node"))
    if amount_gb is None or given_gb is None or cores is None or nodes is None:
        return said
    if amount_gb == 0.0:
        return {**said, "MinMemoryNode": amount}
    # Slurm prints amounts with two decimals if they are not a whole number of their unit.
    shares = (("MinMemoryNode", nodes), ("MinMemoryCPU", cores))
    fitting = [field for field, count in shares if abs(amount_gb * count - given_gb) <= 0.01 * given_gb]
    return {**said, **dict.fromkeys(fitting, amount)}


def name(squeue: str, job_id: int) -> str:
    """The job's name, whatever it contains: it ends where the field ends, padded with blanks."""
    printed = _run([squeue, *_of(job_id), f"--Format=JobID:{MARK},Name:{NAME_LENGTH_MAX}"])
    _, found, rest = f"\n{printed}".partition(f"\n{job_id}{MARK}")
    return rest[:NAME_LENGTH_MAX].rstrip() if found else ""


def _of(job_id: int) -> list[str]:
    return ["--noheader", "--all", "--states=all", f"--jobs={job_id}"]


def is_gone(squeue: str, job_id: int) -> bool:
    """Whether Slurm answers that it no longer runs this job; false if it does not answer."""
    state = _state(squeue, job_id)
    return state is not None and state not in UNFINISHED


def is_ending(squeue: str, job_id: int) -> bool:
    """Whether Slurm has ended a job's processes and waits for its epilogs."""
    return _state(squeue, job_id) == "COMPLETING"


def _state(squeue: str, job_id: int) -> str | None:
    """The state of a job; empty if Slurm answers that it does not know it, None if it does not answer."""
    if not squeue:
        return None
    try:
        status, printed = output(
            [squeue, *_of(job_id), f"--Format=JobID:{MARK},State:{MARK}"], ASK_TIMEOUT_S, with_errors=True
        )
    except OSError:
        return None
    if status != 0:
        return "" if "Invalid job id" in printed else None
    states = [row.split(MARK)[1] for row in printed.splitlines() if row.startswith(f"{job_id}{MARK}")]
    return states[0] if states else ""


def defaults(scontrol: str, partition: str | None) -> dict[str, str]:
    """The fields of a partition, which its administrators wrote; empty if Slurm does not answer."""
    shown = _run([scontrol, "show", "partition", partition]) if partition else ""
    if not shown.startswith(f"PartitionName={partition}\n"):
        return {}
    return {field: value for field, _, value in (word.partition("=") for word in shown.split())}


def settings(scontrol: str) -> dict[str, str]:
    """The content of slurm.conf, with Slurm's own spelling; empty if Slurm does not answer."""
    pairs = (line.partition("=") for line in _run([scontrol, "show", "config"]).splitlines())
    return {name.strip(): value.strip() for name, separator, value in pairs if separator}


def hostnames(scontrol: str, said: Mapping[str, str]) -> list[str]:
    """The names in a list of nodes; none if there are not as many as the job has."""
    names = _run([scontrol, "show", "hostnames", said["NodeList"]]).split() if said.get("NodeList") else []
    return names if len(names) == least(said.get("NumNodes", "")) else []


def tres(written: str) -> dict[str, str]:
    pairs = (part.partition("=") for part in written.split(","))
    return {name: value for name, separator, value in pairs if separator}


def memory_gb(written: str) -> float | None:
    unit = written[-1:].upper()
    try:
        return float(written.rstrip("KMGTP")) * GB_OF_UNIT.get(unit, GB_OF_UNIT["M"])
    except ValueError:
        return None


def least(nodes: str) -> int | None:
    """The smaller number of a range of nodes such as `2-4`."""
    found = RANGE.fullmatch(nodes)
    return int(found[1]) if found else None


def _run(command: list[str]) -> str:
    """What a command printed; empty if it failed or took too long."""
    try:
        status, printed = output(command, ASK_TIMEOUT_S, TZ="UTC", SLURM_TIME_FORMAT="standard")
    except OSError:
        return ""
    return printed if status == 0 else ""
