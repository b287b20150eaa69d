"""What a person's runs of some weeks say together, and the lines shown when a job of such a work is submitted."""

from __future__ import annotations

from collections.abc import Sequence

from reports.numbers import NO_BREAK, counted, hours, unbroken

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


def would_save_text(title: str, gpu_hours: float, runs: int) -> str:
    """One work with open savings.

    >>> would_save_text("Request only the GPUs you use", 150.0, 9).replace(NO_BREAK, " ")
    'Request only the GPUs you use: 150.0 GPU-hours in 9 runs.'
    """
    return unbroken(f"{title}: {hours(gpu_hours)} GPU-hours in {counted(runs, 'run')}.")


def repeats_text(title: str, runs: int, of: int) -> str:
    """A finding that several runs have.

    >>> repeats_text("Only some of the GPUs were used", 9, 12)
    '9 of 12 runs: Only some of the GPUs were used.'
    """
    return f"{runs:,} of {counted(of, 'run')}: {title}."


def brought_text(runs: int, compared_runs: int, saved_gpu_hours: float, followed: int, given: int) -> str:
    """What following advice brought since the portal knows.

    >>> brought_text(4, 4, 12.5, 3, 5).replace(NO_BREAK, " ")
    '3 of 5 suggestions followed; 4 runs used 12.5 GPU-hours less.'
    """
    said = f"{followed:,} of {counted(given, 'suggestion')} followed"
    if not compared_runs:
        return f"{said}; what that saved is not known."
    less = "less" if saved_gpu_hours >= 0 else "more"
    return unbroken(f"{said}; {counted(compared_runs, 'run')} used {hours(abs(saved_gpu_hours))} GPU-hours {less}.")


def period_sentences(
    days: int, runs: int, open_gpu_hours: float, changed_gpu_hours: float, of_runs: int | None
) -> list[str]:
    """The period as a whole; what later runs changed already counts as no open saving.

    `of_runs` are the latest ones that savings are of, None where they are of all.
    """
    left_out = "short runs and those that the system ended"
    said = [f"{counted(runs, 'run')} in the last {days} days, without {left_out}."]
    if not runs:
        said = [f"No runs in the last {days} days; {left_out} are left out."]
    if open_gpu_hours:
        said.append(f"Other requests would have used {hours(open_gpu_hours)} GPU-hours less.")
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
    return [plain_line(line) for line in (head, *([", ".join(lines)] if lines else []))]


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
