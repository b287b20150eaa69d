"""The kinds of background work as administrators read them: by what is counted."""

from __future__ import annotations

from reports.numbers import counted

DUE = {"judgement": "Ended jobs to analyse", "report": "Reports to make", "mail": "Messages to send"}
FAILED = {
    "judgement": "Job analysis",
    "report": "Report",
    "mail to a person": "Mail to a person",
    "link check": "Link check",
    "summary of the support queue": "Summary of the support queue",
    "flag of a person": "Flag of a person",
    "flags of a project": "Flags of a project",
}


def waiting(kind: str, count: int) -> str:
    """How much of one kind of `DUE` waits.

    >>> waiting("judgement", 1), waiting("mail", 2)
    ('1 ended job waits for its analysis', '2 messages wait to be sent')
    """
    verb, its = ("waits", "its") if count == 1 else ("wait", "their")
    if kind == "judgement":
        return f"{counted(count, 'ended job')} {verb} for {its} analysis"
    noun, end = {"report": ("report", "made"), "mail": ("message", "sent")}[kind]
    return f"{counted(count, noun)} {verb} to be {end}"


def set_aside(kind: str, count: int) -> str:
    """How much of one kind failed too often to be retried.

    >>> set_aside("link check", 2)
    '2 link checks set aside after repeated failures'
    """
    if kind == "judgement":
        return f"{counted(count, 'job')} without analysis, set aside after repeated failures"
    if kind == "mail to a person":
        return f"Mail to {count:,} {'person' if count == 1 else 'people'} set aside after repeated failures"
    what = counted(count, kind) if kind in FAILED else f"{counted(count, 'piece')} of work ({kind})"
    return f"{what} set aside after repeated failures"
