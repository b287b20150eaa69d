"""What a person's runs of some weeks say together, and the lines shown when a job of such a work is submitted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from reports.numbers import NO_BREAK, counted, hours, unbroken
from reports.work_texts import saved_text

HINT_LENGTH_MAX = 120
FAILED_HOW = {
    "TIMEOUT": "were ended by their time limit",
    "host_out_of_memory": "ran out of host memory",
    "gpu_out_of_memory": "probably ran out of GPU memory",
    "FAILED": "failed by themselves",
}
"""The ways to fail that a hint names."""
UNEXPLAINED = "Low GPU use or a failure; we found no clear cause"
"""What several runs have in common that have nothing else."""


@dataclass(frozen=True)
class Saved:
    """The runs that followed advice, in full or in part; the hours are of `compared_runs` alone."""

    runs: int
    compared_runs: int
    saved_gpu_hours: float
    since: date | None


def would_save_text(title: str, gpu_hours: float, runs: int) -> str:
    """One work with open savings: what the lines below would have saved; without a title the request stays as it is.

    >>> would_save_text("Request only the GPUs you use", 157.5, 9).replace(NO_BREAK, " ")
    'Request only the GPUs you use: 9 runs would have used 157.5 GPU-hours less with these lines.'
    >>> would_save_text("", 150.0, 1).replace(NO_BREAK, " ")
    'The report of 1 run would have saved 150.0 GPU-hours; others needed more, so the request stays as it is.'
    """
    if not title:
        reports = "the report of 1 run" if runs == 1 else f"the reports of {runs:,} runs"
        said = f"{reports.capitalize()} would have saved {hours(gpu_hours)} GPU-hours"
        return unbroken(f"{said}; others needed more, so the request stays as it is.")
    return unbroken(
        f"{title}: {counted(runs, 'run')} would have used {hours(gpu_hours)} GPU-hours less with these lines."
    )


def mixed_text(gpus: Sequence[int]) -> str:
    """That the reports of the runs of one work differ.

    >>> mixed_text((2, 4)).replace(NO_BREAK, " ")
    'The hours are those of the reports of these runs, which suggest 2 or 4 GPUs.'
    """
    named = " or ".join(f"{each:,}" for each in gpus)
    noun = "GPU" if tuple(gpus) == (1,) else "GPUs"
    return unbroken(f"The hours are those of the reports of these runs, which suggest {named} {noun}.")


def no_use_text(runs: int, of: int, gpu_hours: float, *, is_over: bool) -> str:
    """That runs of one work used no GPU at all.

    >>> no_use_text(2, 6, 108.1, is_over=True).replace(NO_BREAK, " ")
    '2 of 6 runs used no GPU at all: 108.1 GPU-hours billed. The latest run used its GPUs.'
    >>> no_use_text(1, 1, 29.4, is_over=False).replace(NO_BREAK, " ")
    'The only run used no GPU at all: 29.4 GPU-hours billed.'
    """
    if runs == of:
        which = "The only run" if of == 1 else f"None of the {of:,} runs used a GPU"
        said = f"{which} used no GPU at all" if of == 1 else which
    else:
        said = f"{runs:,} of {of:,} runs used no GPU at all"
    return unbroken(f"{said}: {hours(gpu_hours)} GPU-hours billed.{' The latest run used its GPUs.' * is_over}")


def repeats_text(title: str, runs: int, of: int) -> str:
    """A finding that several runs have.

    >>> repeats_text("Only some of the GPUs were used", 9, 12)
    '9 of 12 runs: Only some of the GPUs were used.'
    """
    return f"{runs:,} of {counted(of, 'run')}: {title}."


def brought_text(saved: Saved, followed: int, given: int) -> str:
    """What following advice brought over everything stored: its own period, whichever the other figures have.

    >>> day = date(2026, 9, 20)
    >>> brought_text(Saved(14, 1, 4.07, day), 6, 21).replace(NO_BREAK, " ")
    'Over everything stored: 6 of 21 suggestions followed in full. Since 2026-09-20 14 runs followed advice, in full \
or in part: 4.07 GPU-hours less than before (1 of them can be compared).'
    >>> brought_text(Saved(0, 0, 0.0, None), 0, 21).replace(NO_BREAK, " ")
    'Over everything stored: 0 of 21 suggestions followed in full.'
    """
    said = f"Over everything stored: {followed:,} of {counted(given, 'suggestion')} followed in full."
    if not saved.runs:
        return unbroken(said)
    since = f"Since {saved.since:%Y-%m-%d} " if saved.since else ""
    return unbroken(f"{said} {since}{saved_text(saved.runs, saved.compared_runs, saved.saved_gpu_hours)}")


def period_sentences(
    days: int,
    runs: int,
    open_gpu_hours: float,
    changed_gpu_hours: float,
    of_runs: int | None,
    without_use: tuple[int, float] = (0, 0.0),
) -> list[str]:
    """The period as a whole; what later runs changed already counts as no open saving.

    `of_runs` are the latest ones that savings are of, None where they are of all; `without_use` are the runs that used
    no GPU at all, with their GPU-hours.
    """
    left_out = "short runs and those that the system ended"
    said = [f"{counted(runs, 'run')} in the last {days} days, without {left_out}."]
    if not runs:
        said = [f"No runs in the last {days} days; {left_out} are left out."]
    if without_use[0]:
        said.append(f"{counted(without_use[0], 'run')} used no GPU at all: {hours(without_use[1])} GPU-hours billed.")
    if open_gpu_hours:
        said.append(f"Other requests would have used {hours(open_gpu_hours)} GPU-hours less in these days.")
    if changed_gpu_hours:
        said.append(f"Later runs have already changed another {hours(changed_gpu_hours)} GPU-hours.")
    if of_runs is not None:
        said.append(f"Savings are those of the latest {counted(of_runs, 'run')}.")
    return [unbroken(each) for each in said]


def saving_hint(runs: int, gpu_hours: float, lines: Sequence[str]) -> list[str]:
    """At most three plain lines about a work whose request is too large.

    >>> saving_hint(5, 30.0, ["--gpus=8 -> --gpus=2"])
    ['5 runs of this work would have used 30.0 GPU-hours less with:', '--gpus=8 -> --gpus=2']
    """
    head = f"{counted(runs, 'run')} of this work would have used {hours(gpu_hours)} GPU-hours less with:"
    return [plain_line(line) for line in (head, ", ".join(lines))]


def failure_hint(how: str, failed: int, of: int) -> list[str]:
    """One plain line about a work that keeps failing in the same way.

    >>> failure_hint("TIMEOUT", 3, 5)
    ['3 of the last 5 runs of this work were ended by their time limit.']
    """
    return [plain_line(f"{failed} of the last {of} runs of this work {FAILED_HOW[how]}.")]


def plain_line(text: str) -> str:
    """A line of printable ASCII, cut to a bounded length: it is written to a terminal.

    >>> plain_line("a\\u00a0b\\x1b[31m\\u202ec")
    'a b?[31m?c'
    """
    written = text.replace(NO_BREAK, " ")
    safe = "".join(letter if " " <= letter <= "~" else "?" for letter in written)
    return safe if len(safe) <= HINT_LENGTH_MAX else safe[: HINT_LENGTH_MAX - 3] + "..."
