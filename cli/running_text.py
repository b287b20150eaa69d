"""What is printed of a job that still runs: its status in some lines, and one early word with its commands."""

from __future__ import annotations

import time

from cli.answers import number, objects, text, value, whole
from cli.layout import NOT_KNOWN, date, duration, fitting, gigabytes, hours, instant, percent, use_bar, wrapped
from cli.report import NAME_MAX, job_name
from cli.terminal import cut
from wire.numbers import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from cli.job_names import JobName
    from cli.terminal import Terminal

NOT_YET = "Not measured yet: the first figures come about 10 to 25 minutes after the start."
OF_OWNER = "The commands to look into the job work for its owner."
STEPS_MAX = 8
"""Steps of one word that are shown; the portal has at most five."""


def shown_id(job: object) -> str:
    """`lumi/123456`, and for a task of an array `lumi/123_4`."""
    array, task = number(job, "array_job_id"), number(job, "array_task_id")
    return job_name(job) if array is None or task is None else f"{text(job, 'cluster')}/{array:.0f}_{task:.0f}"


def is_meant(job: object, named: JobName) -> bool:
    """Whether a running job is the one that somebody named."""
    if named.cluster not in ("", text(job, "cluster")):
        return False
    if named.task is not None:
        return number(job, "array_job_id") == named.job_id and number(job, "array_task_id") == named.task
    return named.job_id in (number(job, "job_id"), number(job, "array_job_id"))


def clock(written: str) -> str:
    """An instant on this machine's clock: the time alone where it is today."""
    at = instant(written)
    if at is None:
        return NOT_KNOWN
    there, now = time.localtime(at), time.localtime(time.time())
    return time.strftime("%H:%M", there) if there[:3] == now[:3] else date(written, is_short=True)


def status_lines(terminal: Terminal, job: dict[str, Any]) -> Iterator[str]:
    """A running job in at most six lines, and each of its words."""
    is_own = value(job, "is_own") is not False
    which = (
        shown_id(job),
        "" if is_own else f"{cut(text(job, 'user_id'), NAME_MAX)}'s job",
        cut(text(job, "name"), NAME_MAX),
        counted(whole(job, "gpus"), "GPU"),
        text(job, "partition"),
    )
    yield terminal.paint(fitting(which, terminal.columns), "bold")
    yield fitting((_times(job), _costs(job)), terminal.columns)
    if value(job, "is_old") is True:
        yield from wrapped(
            f"The queue was last read at {clock(text(job, 'as_of'))}: this is old, the job may have ended.",
            terminal.columns,
        )
    yield from figure_lines(terminal, job)
    for word in objects(job, "words"):
        yield from word_lines(terminal, word, is_own=is_own)


def figure_lines(terminal: Terminal, job: dict[str, Any]) -> Iterator[str]:
    """What was measured so far."""
    measured = value(job, "measured")
    if not isinstance(measured, dict):
        yield from wrapped(NOT_YET, terminal.columns)
        return
    use, idle_since = number(measured, "use_percent"), text(measured, "idle_since")
    drawn, colour = use_bar(use)
    shown = "GPU use not measured" if use is None else f"{percent(use)} GPU use"
    state = f"{shown}, idle since {clock(idle_since)}" if idle_since else shown
    painted = terminal.paint(drawn, *([colour] if colour else []))
    until = f"measured until {clock(text(measured, 'until'))}"
    yield f"{painted} {fitting((state, until), terminal.columns - 11)}"
    yield fitting(
        (
            _memory(measured, "GPU memory", "gpu_memory_peak_gb", "gpu_memory_capacity_gb"),
            _memory(measured, "host memory", "host_memory_peak_gb", "host_memory_limit_gb"),
            _with_work(job, measured),
            _nodes(measured),
        ),
        terminal.columns,
    )
    for silent in objects(measured, "silent_nodes"):
        yield cut(f"{text(silent, 'node')} is silent: last heard at {clock(text(silent, 'since'))}", terminal.columns)


def word_lines(terminal: Terminal, word: dict[str, Any], *, is_own: bool) -> Iterator[str]:
    """One early word: what it is, where to look, and what is only possible. Commands are never cut or divided."""
    confidence = number(word, "confidence")
    is_inferred = value(word, "is_fact") is not True and confidence is not None
    how_often = f" Right in about {100 * (confidence or 0.0):.0f}\u00a0% of such cases." if is_inferred else ""
    yield terminal.paint(cut(f"! {text(word, 'title')}", terminal.columns), "bold", "yellow")
    yield from wrapped(text(word, "text") + how_often, terminal.columns, "  ")
    if not is_own:
        yield from wrapped(OF_OWNER, terminal.columns, "  ")
        return
    for step in objects(word, "steps")[:STEPS_MAX]:
        yield from _step(terminal, step, "  - ")
    possible = value(word, "possibility")
    if isinstance(possible, dict) and text(possible, "text"):
        yield from _step(terminal, possible, "  ")


def _step(terminal: Terminal, step: dict[str, Any], first: str) -> Iterator[str]:
    yield from wrapped(text(step, "text"), terminal.columns, first, "    " if first.strip() else first)
    if command := text(step, "command"):
        yield f"      {terminal.paint(command, 'bold')}"


def _minutes(seconds: float | None) -> str:
    """A duration without its seconds.

    >>> _minutes(433.0), _minutes(4273.0), _minutes(None)
    ('7\\xa0min', '1\\xa0h 11\\xa0min', '–')
    """
    minutes = None if seconds is None else round(seconds / 60)
    return f"{minutes}\u00a0min" if minutes is not None and minutes < 60 else duration(minutes and 60.0 * minutes)


def _times(job: dict[str, Any]) -> str:
    left_s = number(job, "left_s")
    left = "no time limit" if left_s is None else f"{_minutes(left_s)} left"
    return f"runs {_minutes(number(job, 'ran_s'))}, {left}"


def _costs(job: dict[str, Any]) -> str:
    used, at_limit = number(job, "gpu_hours_so_far"), number(job, "gpu_hours_at_limit")
    if used is None:
        return "price not known"
    most = "" if at_limit is None else f", {hours(at_limit)} at the limit"
    return f"{hours(used)}\u00a0GPU-hours so far{most}"


def _memory(measured: dict[str, Any], what: str, peak: str, limit: str) -> str:
    used_gb, limit_gb = number(measured, peak), number(measured, limit)
    if used_gb is None:
        return f"{what} not measured"
    return f"{what} {gigabytes(used_gb)}" + ("" if limit_gb is None else f" of {gigabytes(limit_gb)}")


def _with_work(job: dict[str, Any], measured: dict[str, Any]) -> str:
    """How many of the GPUs had work, where not all had."""
    worked, gpus = number(measured, "gpus_with_work"), number(job, "gpus")
    return "" if worked is None or gpus is None or worked >= gpus else f"{worked:.0f} of {gpus:.0f} GPUs had work"


def _nodes(measured: dict[str, Any]) -> str:
    heard, expected = whole(measured, "nodes_heard"), whole(measured, "nodes_expected")
    return "" if heard >= expected else f"{heard:,} of {counted(expected, 'node')} heard"
