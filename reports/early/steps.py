"""Where to look first at a running job, in words with the exact command for this job; pure.

Sources: srun(1) for `--overlap`, `--jobid` and `-w`; sstat(1); scontrol(1); py-spy's README. Job ids and node names
come from other machines: what does not match a strict pattern is in no command.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.early.findings import EarlyCode

JOB_ID_MAX = 2**32
NODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}(?:\.[A-Za-z0-9][A-Za-z0-9-]{0,62}){0,4}")
OWN_PYTHONS = 'for pid in $(pgrep -u "$USER" python); do py-spy dump --pid "$pid"; done'


@dataclass(frozen=True)
class Place:
    """Where to look: a running job, and the node of it; `node` is empty in a job on one node."""

    job_id: int
    node: str = ""

    @property
    def is_known(self) -> bool:
        """Whether commands can be stated for it."""
        return isinstance(self.job_id, int) and 0 < self.job_id < JOB_ID_MAX


def place(job_id: int, nodes: tuple[str, ...], node: str) -> Place:
    """The node of a job on several nodes, the first one where `node` is none of them.

    >>> place(7, ("nid005002", "nid005003"), "nid005003"), place(7, ("nid005002",), "nid005002").node
    (Place(job_id=7, node='nid005003'), '')
    >>> place(7, ("a", "b; rm"), "b; rm").node
    'a'
    """
    if len(nodes) < 2:
        return Place(job_id)
    usable = [name for name in nodes if NODE.fullmatch(name)]
    return Place(job_id, node if node in usable else usable[0] if usable else "")


def inside(where: Place, program: str) -> str:
    """A program within the job, beside what runs there.

    >>> inside(Place(7, "nid005002"), "rocm-smi")
    'srun --overlap --jobid=7 --nodes=1 --ntasks=1 -w nid005002 --pty rocm-smi'
    """
    on = f" -w {where.node}" if where.node else ""
    return f"srun --overlap --jobid={where.job_id} --nodes=1 --ntasks=1{on} --pty {program}"


def processes(where: Place, sort: str) -> str:
    """The user's processes on the node, those with the most memory (`rss`) or cpu time (`pcpu`) first.

    >>> processes(Place(7), "rss").partition("--pty ")[2]
    'bash -c \\'ps -u "$USER" -o pid,pcpu,rss,comm --sort=-rss | head -n 20\\''
    """
    return inside(where, f"bash -c 'ps -u \"$USER\" -o pid,pcpu,rss,comm --sort=-{sort} | head -n 20'")


def end(where: Place) -> str:
    """What ends the job.

    >>> end(Place(7))
    'scancel 7'
    """
    return f"scancel {where.job_id}"


@dataclass(frozen=True)
class Step:
    """Something to look at; `command` is for a terminal, empty where none is needed."""

    text: str
    command: str = ""


def steps_of(code: EarlyCode, seen: Mapping[str, Any], where: Place, monitor: str) -> tuple[Step, ...]:
    """The steps for one word, the first one first; without commands where the job's number is not usable.

    `monitor` is the program that shows the GPUs, empty where it is not known.
    """
    if not where.is_known:
        return (Step("Look at the output of the job: does it still advance?"),)
    gpus, output = _gpus(where, monitor), _output(where)
    if code in (EarlyCode.ALL_GPUS_IDLE, EarlyCode.CPU_ONLY):
        first = (output, gpus) if seen.get("worked_before") else (gpus, output)
        return (*first, _busy_processes(where), _stacks(where))
    if code is EarlyCode.SOME_GPUS_UNUSED:
        return (gpus, _busy_processes(where), output)
    if code is EarlyCode.SPINNING:
        return (output, gpus, _stacks(where))
    if code is EarlyCode.HOST_MEMORY_FILLING:
        return (
            Step("See which processes use most memory.", processes(where, "rss")),
            Step(
                "See the highest memory of each step of the job.",
                f"sstat --allsteps --jobs={where.job_id} --format=JobID,MaxRSS,MaxRSSNode,AveRSS",
            ),
            output,
        )
    if code is EarlyCode.GPU_MEMORY_FULL:
        return (gpus, output)
    return (
        Step(
            "See how long the job has run and when it ends.",
            f"scontrol show job {where.job_id} | grep -E 'RunTime|EndTime'",
        ),
        output,
        Step("Check that a checkpoint is written before the limit, so that the next job can continue from it."),
    )


def _gpus(where: Place, monitor: str) -> Step:
    on = f" of {where.node}" if where.node else ""
    if monitor:
        return Step(f"See use, power and memory of the GPUs{on} now.", inside(where, monitor))
    return Step(f"Open a terminal in the job and start the GPU monitor of your system{on}.", inside(where, "bash"))


def _busy_processes(where: Place) -> Step:
    return Step("See which of your processes run, and how busy they are.", processes(where, "pcpu"))


def _stacks(where: Place) -> Step:
    return Step(
        "For a Python program: see the line that each process is at. It needs py-spy in your own environment (pip"
        " install py-spy), activated in the terminal that you call this from, and a system that lets you inspect your"
        " own processes.",
        inside(where, f"bash -c '{OWN_PYTHONS}'"),
    )


def _output(where: Place) -> Step:
    return Step(
        "Read the last lines of the job's output; this shows where its file is. Kaiku never reads it.",
        f"scontrol show job {where.job_id} | grep StdOut",
    )
