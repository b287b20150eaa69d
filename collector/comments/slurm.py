"""What Slurm's accounting has of jobs, and writing their AdminComment."""

from __future__ import annotations

import os
import re
from typing import NamedTuple

from collector.commands import OUTPUT_BYTES_MAX, output
from collector.comments.texts import OURS, id_list, modification, seconds_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from collector.comments.settings import Settings
    from collector.comments.texts import Wanted

FINISHED = frozenset(
    "BOOT_FAIL CANCELLED COMPLETED DEADLINE FAILED NODE_FAIL OUT_OF_MEMORY PREEMPTED REVOKED TIMEOUT".split()
)
"""States that do not change any more (sacct(1), JOB STATE CODES). Any other: its record is still to come."""

WRITE, THERE, FOREIGN, SHARED, OTHER, LATER = "write", "there", "foreign", "shared", "other", "later"
STARTS_APART_S = 1
"""Portal and accounting have the start from Slurm, in whole seconds; another attempt has another one."""


class SlurmError(Exception):
    """A command of Slurm that is missing, failed, or did not answer in time."""


class Row(NamedTuple):
    """An allocation as accounting has it: its own number, its shown one (`12`, `12_3`, `12+1`), state, start, comment.

    Of a requeued job it is the latest attempt, which is also the only one that sacctmgr changes.
    """

    raw_id: int
    shown_id: str
    state: str
    started_s: int | None
    comment: str


def rows_of(settings: Settings, ids: Sequence[int]) -> list[Row]:
    """The rows that a change of these jobs would change; those with huge comments are asked in smaller parts.

    Raises SlurmError.
    """
    mark = f"<{os.urandom(12).hex()}>"
    asked = [f"--clusters={settings.cluster}", f"--jobs={id_list(ids)}", f"--delimiter={mark}"]
    command = [settings.sacct, "--allocations", "--noheader", "--parsable2", *asked]
    printed = _run([*command, "--format=JobIDRaw,JobID,State,Start,AdminComment"], settings.command_max_s)
    if len(printed.encode("utf-8", "replace")) < OUTPUT_BYTES_MAX:
        return parse(printed, mark)
    half = len(ids) // 2
    # One that is alone too large for an answer is not asked again: without a row it waits, and is given up.
    return [*rows_of(settings, ids[:half]), *rows_of(settings, ids[half:])] if half else []


def parse(printed: str, mark: str) -> list[Row]:
    """The rows in an answer. The mark cannot be foreseen, so no comment can contain what looks like a row.

    >>> rows = parse("7#5_2#CANCELLED by 0#2026-11-20T10:00:00#a\\n8##\\n", "#")
    >>> [(row.raw_id, row.shown_id, row.state, row.started_s, row.comment) for row in rows]
    [(7, '5_2', 'CANCELLED', 1795168800, 'a\\n8##')]
    """
    ended = re.escape(mark)
    line = rf"^([0-9]+){ended}([0-9][^\n<>]*?){ended}([A-Z_]+)[^\n]*?{ended}([\w:-]+){ended}"
    found = list(re.finditer(line, printed, re.MULTILINE))
    ends = [next_one.start() for next_one in found[1:]] + [len(printed)]
    return [
        Row(int(row[1]), row[2], row[3], seconds_of(row[4]), printed[row.end() : end].rstrip("\n"))
        for row, end in zip(found, ends)
    ]


def decide(wanted: Mapping[int, Wanted], rows: Sequence[Row]) -> dict[int, str]:
    """What to do about each job: `WRITE`, or why not.

    A number that arrays or heterogeneous jobs show before `_` or `+` stands for all of their members.
    """
    shared = {int(base) for base in (re.split(r"[_+]", row.shown_id)[0] for row in rows if not row.shown_id.isdigit())}
    by_id = {row.raw_id: row for row in rows}
    return {job_id: _one(each, by_id.get(job_id), is_shared=job_id in shared) for job_id, each in wanted.items()}


def _one(wanted: Wanted, row: Row | None, *, is_shared: bool) -> str:
    if is_shared:
        return SHARED
    if row is None or (row.started_s is None and row.state not in FINISHED):
        return LATER
    # One that ended without a start was requeued and cancelled: the attempt that is meant has started.
    if row.started_s is None or abs(row.started_s - wanted.started_s) > STARTS_APART_S:
        return OTHER
    if row.state not in FINISHED:
        return LATER
    if row.comment == wanted.text:
        return THERE
    return FOREIGN if row.comment and not OURS.fullmatch(row.comment) else WRITE


def write(settings: Settings, text: str, ids: Sequence[int]) -> None:
    """Write one text into these jobs. Raises SlurmError."""
    _run(modification(settings.sacctmgr, settings.cluster, text, ids), settings.command_max_s)


def _run(command: Sequence[str], seconds: float) -> str:
    try:
        status, printed = output(command, seconds, with_errors=True, TZ="UTC", SLURM_TIME_FORMAT="standard")
    except OSError as error:
        raise SlurmError(f"{command[0]}: {error.strerror or error}") from error
    if status != 0:
        said = "".join(letter if letter.isprintable() else " " for letter in printed[:300]).strip()
        raise SlurmError(f"{command[0]} ended with status {status}: {said}")
    return printed
