"""Rows of squeue as the tests write them, and the captured queue of a real Slurm."""

from __future__ import annotations

from pathlib import Path

from jobs.queue.squeue import FILE_MARK, QUEUE_FIELDS

SAMPLE = Path(__file__).parents[2] / "samples" / "slurm" / "squeue-format-queue.txt"

CELLS = {
    "JobID": "7",
    "ArrayJobID": "7",
    "ArrayTaskID": "N/A",
    "UserName": "alice",
    "Account": "project_465000001",
    "Partition": "small-g",
    "QOS": "normal",
    "State": "RUNNING",
    "Reason": "None",
    "NumNodes": "1",
    "tres-alloc": "cpu=14,mem=60G,node=1,billing=14,gres/gpu=2,gres/gpu:mi250=2",
    "OverSubscribe": "OK",
    "TimeLimit": "4:00:00",
    "SubmitTime": "2026-11-20T10:00:00",
    "EligibleTime": "2026-11-20T10:00:00",
    "StartTime": "2026-11-20T12:00:00",
    "Name": "train",
}
IS_PENDING = {
    "State": "PENDING",
    "Reason": "Priority",
    "tres-alloc": "cpu=14,mem=60G,node=1,billing=14,gres/gpu=2",
    "StartTime": "2026-11-20T18:00:00",
}


def sample() -> str:
    """The captured rows, without the lines that state their origin."""
    return "".join(line for line in SAMPLE.read_text().splitlines(keepends=True) if not line.startswith("#"))


def row(mark: str = FILE_MARK, **cells: str) -> str:
    """One row as squeue prints it, a running job of alice's unless stated otherwise; `tres_alloc` is `tres-alloc`."""
    known = CELLS | {name.replace("_", "-"): cell for name, cell in cells.items()}
    assert known.keys() == set(QUEUE_FIELDS)
    return "".join(f"{known[field]}{mark}" for field in QUEUE_FIELDS) + "\n"


def pending(mark: str = FILE_MARK, **cells: str) -> str:
    """The same of a pending job, in no hurry to start at 18:00."""
    return row(mark, **{name.replace("-", "_"): cell for name, cell in IS_PENDING.items()} | cells)
