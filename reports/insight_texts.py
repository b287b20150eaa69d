"""What a person's runs of some weeks say together, and the lines shown when a job of such a work is submitted."""

from collections.abc import Iterable, Sequence
from datetime import date

from reports.numbers import unbroken
from reports.request_diff import ARROW, LEFT_OUT, NOT_SET
from wire.numbers import NO_BREAK, counted, hours

HINT_LENGTH_MAX, HINT_LINES_MAX = 120, 3
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
        said = "The only run used no GPU at all" if of == 1 else f"None of the {of:,} runs used a GPU"
    else:
        said = f"{runs:,} of {of:,} runs used no GPU at all"
    return unbroken(f"{said}: {hours(gpu_hours)} GPU-hours billed.{' The latest run used its GPUs.' * is_over}")


def repeats_text(title: str, runs: int, of: int) -> str:
    """A finding that several runs have.

    >>> repeats_text("Only some of the GPUs were used", 9, 12)
    '9 of 12 runs: Only some of the GPUs were used.'
    """
    return f"{runs:,} of {counted(of, 'run')}: {title}."


def brought_text(followed: int, given: int, saved: str, since: date | None) -> str:
    """What following advice brought over everything stored: its own period, whichever the other figures have.

    `saved` is what is said of the runs that followed any, empty where there are none.

    >>> from reports.work_texts import saved_text
    >>> brought_text(6, 21, saved_text(14, 1, 4.07), date(2026, 9, 20)).replace(NO_BREAK, " ")
    'Over everything stored: 6 of 21 suggestions followed in full. Since 2026-09-20 14 runs followed advice, in full \
or in part: 4.07 GPU-hours less than before (1 of them can be compared).'
    >>> brought_text(0, 21, "", None).replace(NO_BREAK, " ")
    'Over everything stored: 0 of 21 suggestions followed in full.'
    """
    said = f"Over everything stored: {followed:,} of {counted(given, 'suggestion')} followed in full."
    if not saved:
        return unbroken(said)
    from_then = f"Since {since:%Y-%m-%d} " if since else ""
    return unbroken(f"{said} {from_then}{saved}")


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


def saving_hint(runs: int, gpu_hours: float, lines: Sequence[str], days: int, room: int = HINT_LINES_MAX) -> list[str]:
    """At most `room` plain lines about a work whose request is too large: the sum, then whole options.

    >>> saving_hint(5, 30.0, ["--gpus=8 -> --gpus=2", "(not set) -> --mem=60G"], 90)
    ['Kaiku, last 90 days: 5 runs of this work would have used 30.0 GPU-hours less with:', '--gpus=8 -> --gpus=2, \
add --mem=60G']
    """
    head = f"Kaiku, last {days} days: {counted(runs, 'run')} of this work would have used {hours(gpu_hours)} GPU-hours"
    return [plain_line(f"{head} less with:"), *_packed([_to_do(line) for line in lines], room - 1)]


def no_use_hint(runs: int, of: int, gpu_hours: float, days: int) -> list[str]:
    """One plain line about a work that uses no GPU.

    >>> no_use_hint(3, 3, 68.5, 90), no_use_hint(1, 1, 4.0, 90)[0]
    (['Kaiku, last 90 days: none of 3 runs of this work used a GPU, 68.5 GPU-hours billed. See: kaiku check SCRIPT'], \
'Kaiku, last 90 days: the only run of this work used no GPU, 4.00 GPU-hours billed. See: kaiku check SCRIPT')
    """
    which = f"{runs:,} of {of:,} runs of this work used no GPU"
    if runs == of:
        which = "the only run of this work used no GPU" if of == 1 else f"none of {of:,} runs of this work used a GPU"
    said = f"Kaiku, last {days} days: {which}, {hours(gpu_hours)} GPU-hours billed."
    return [plain_line(f"{said} See: kaiku check SCRIPT")]


def failure_hint(how: str, failed: int, of: int) -> list[str]:
    """One plain line about a work that keeps failing in the same way.

    >>> failure_hint("TIMEOUT", 3, 5)
    ['Kaiku: 3 of the last 5 runs of this work were ended by their time limit.']
    """
    return [plain_line(f"Kaiku: {failed} of the last {of} runs of this work {FAILED_HOW[how]}.")]


def _to_do(line: str) -> str:
    """A line of a suggested request as `kaiku` writes it.

    >>> _to_do("(not set) -> --mem=60G"), _to_do("--exclusive -> (leave out)"), _to_do("--gpus=8 -> --gpus=2")
    ('add --mem=60G', 'leave out --exclusive', '--gpus=8 -> --gpus=2')
    """
    before, arrow, after = line.partition(ARROW)
    if arrow and before == NOT_SET:
        return f"add {after}"
    return f"leave out {before}" if arrow and after == LEFT_OUT else line


def _packed(options: Sequence[str], room: int) -> list[str]:
    """These in at most `room` lines, each of them whole; what has no place is counted at the end.

    >>> _packed(["a" * 70, "b" * 70, "c" * 70], 2)[1].replace("b", "")
    '; kaiku check SCRIPT shows 1 more'
    """
    written = [plain_text(option) for option in options]
    for shown in range(len(written), -1, -1):
        left = len(written) - shown
        parts = [f"{option}," for option in written[:shown]]
        if parts:
            parts[-1] = parts[-1][:-1] + ";" * bool(left)
        more = [f"kaiku check SCRIPT shows {f'{left} more' if shown else counted(left, 'line')}"] if left else []
        lines = _filled([*parts, *more])
        if len(lines) <= room and all(len(line) <= HINT_LENGTH_MAX for line in lines):
            return lines
    return []


def _filled(parts: Iterable[str]) -> list[str]:
    """As many parts in each line as have a place, with a blank between them."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + 1 + len(part) <= HINT_LENGTH_MAX:
            lines[-1] += f" {part}"
        else:
            lines.append(part)
    return lines


def plain_text(text: str) -> str:
    """The text in printable ASCII: it is written to a terminal.

    >>> plain_text("a\\u00a0b\\x1b[31m\\u202ec")
    'a b?[31m?c'
    """
    return "".join(letter if " " <= letter <= "~" else "?" for letter in text.replace(NO_BREAK, " "))


def plain_line(text: str) -> str:
    """A line of it, cut to a bounded length."""
    safe = plain_text(text)
    return safe if len(safe) <= HINT_LENGTH_MAX else safe[: HINT_LENGTH_MAX - 3] + "..."
