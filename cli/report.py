"""What a report of the API (`job-report/1`), or the record of a job without one, states in a line or two."""

from __future__ import annotations

from cli.answers import number, objects, text, texts, value
from cli.layout import COLOURS, change, date, duration, fitting, hours, instant
from cli.terminal import cut
from wire.classes import CLASS_NAMES
from wire.numbers import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cli.session import Session
    from cli.terminal import Terminal

LEAVE_OUT = ("", "(leave out)")
NAME_MAX = 40
"""Columns of a job's name in a line with other things."""


def class_shown(name: str) -> tuple[str, str]:
    """The name of a class and its colour; one that is not known here stays as it is."""
    return CLASS_NAMES.get(name, name.capitalize() or "Not analysed"), COLOURS.get(name, "")


def job_name(job: object) -> str:
    """`lumi/123456`."""
    return f"{text(job, 'cluster')}/{text(job, 'job_id')}"


def page_of(session: Session, job: object) -> str:
    """The address of the job's page; a requeued job has one for each attempt."""
    attempt = number(job, "attempt")
    return f"{session.address}/jobs/{job_name(job)}/" + (f"?attempt={attempt:.0f}" if attempt else "")


def state_shown(job: object) -> str:
    """`COMPLETED` as "completed"."""
    return text(job, "state").lower().replace("_", " ")


def run_time_s(job: object) -> float | None:
    """How long the job ran."""
    used_s = number(job, "walltime_used_s")
    if used_s is not None:
        return used_s
    began, ended = instant(text(job, "started_at")), instant(text(job, "ended_at"))
    return None if began is None or ended is None else ended - began


def job_lines(job: dict[str, Any], columns: int) -> tuple[str, str]:
    """Which job it is, and how it ran: two lines."""
    limit_s, has_started = number(job, "walltime_requested_s"), bool(text(job, "started_at"))
    gpus, ran_s = number(job, "gpus_allocated" if has_started else "gpus_requested"), run_time_s(job)
    of_limit = f" of {duration(limit_s)}" if limit_s is not None else ""
    ended = text(job, "ended_at")
    which = (job_name(job), cut(text(job, "job_name"), NAME_MAX), state_shown(job), text(job, "partition"))
    how = (
        "" if gpus is None else counted(round(gpus), "GPU") + ("" if has_started else " requested"),
        "" if ran_s is None or not has_started else f"ran {duration(ran_s)}{of_limit}",
        f"ended {date(ended)}" if ended else "",
    )
    return fitting(which, columns), fitting(how, columns)


def why_no_report(job: dict[str, Any]) -> str:
    """Why a job has no report, as its page explains it."""
    if text(job, "started_at") and number(job, "gpus_allocated") == 0:
        return "This job was allocated no GPUs: Kaiku reports on jobs with GPUs only."
    if not text(job, "ended_at"):
        return "This job has not ended yet. Its report follows within minutes of the end."
    if not text(job, "started_at"):
        return "This job ended before it got any GPU: there is nothing to report, and nothing was billed."
    return "This job is not analysed yet. Its report usually follows within minutes."


def judged(report: dict[str, Any]) -> tuple[str, str]:
    """The class and its colour; a run that was too short, or ended too early, for a class has none."""
    if value(report, "is_use_judged") is False and number(report, "efficiency", "avg_gpu_util") is not None:
        return "Not judged", ""
    return class_shown(text(report, "efficiency", "efficiency_class"))


def unused_line(report: dict[str, Any]) -> str:
    """The bill and what of it was not used."""
    billed, unused = (number(report, "efficiency", name) for name in ("gpu_hours", "wasted_gpu_hours"))
    if billed is None:
        return "price not known"
    if unused is None:
        return f"{hours(billed)}\u00a0GPU-hours"
    return f"{hours(unused)} of {hours(billed)}\u00a0GPU-hours unused"


def suggested(terminal: Terminal, report: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The suggested request: what to change, line by line, and the options to write; both empty where there is none.

    A whole request has no changes. An option to leave out is the last of the options, in brackets.
    """
    advice = objects(report, "recommendations")
    written = list(dict.fromkeys(line for each in advice for line in texts(each, "diff")))
    changes = [line for line in (change(terminal, each) for each in written) if line]
    afters = [(before, after) for before, _, after in (each.partition(" -> ") for each in written) if before != after]
    options = [option for each in advice for option in texts(each, "request")]
    options += [after for _, after in afters if after not in LEAVE_OUT]
    gone = [before for before, after in afters if after in LEAVE_OUT]
    return changes, list(dict.fromkeys(options)) + ([f"(without {' '.join(gone)})"] if gone else [])


def saving_line(report: dict[str, Any]) -> str:
    """What the suggested request saves of the bill; empty where no saving is stated."""
    saved, billed = number(report, "savings", "gpu_hours"), number(report, "efficiency", "gpu_hours")
    if saved is None or saved <= 0:
        return ""
    of_bill = f" of {hours(billed)}" if billed is not None else ""
    return f"saves about {hours(saved)}{of_bill}\u00a0GPU-hours"


def first_sentence(paragraph: str) -> str:
    """The first sentence of a paragraph.

    >>> first_sentence("6 of 8 GPUs (nid1: 2-7) were idle for 99.5 %. Look there."), first_sentence("One")
    ('6 of 8 GPUs (nid1: 2-7) were idle for 99.5 %.', 'One')
    """
    at = paragraph.find(". ")
    while 0 <= at < len(paragraph) - 2:
        if not paragraph[at + 2].islower():
            return paragraph[: at + 1]
        at = paragraph.find(". ", at + 2)
    return paragraph
