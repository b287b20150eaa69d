"""Where to look first at a running job, in words with the exact command; pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.early.findings import EarlyCode
from reports.early.commands import (
    Place,
    inside,
    memory_of_steps,
    output_file,
    processes,
    python_stacks,
    time_left,
)


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
            Step("See the highest memory of each step of the job.", memory_of_steps(where)),
            output,
        )
    if code is EarlyCode.GPU_MEMORY_FULL:
        return (gpus, output)
    return (
        Step("See how long the job has run and when it ends.", time_left(where)),
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
        python_stacks(where),
    )


def _output(where: Place) -> Step:
    return Step(
        "Read the last lines of the job's output; this shows where its file is. Kaiku never reads it.",
        output_file(where),
    )
