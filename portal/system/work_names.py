"""The kinds of background work as administrators read them: by what is counted."""

from portal.months import MONTHS
from wire.numbers import counted

DUE = {
    "judgement": "Ended jobs to analyse",
    "report": "Reports to make",
    "mail": "Messages to send",
    "export": "Runs to export",
}
FAILED = {
    "judgement": "Job analysis",
    "report": "Report",
    "mail to a person": "Mail to a person",
    "link check": "Link check",
    "directory import": "Directory import",
    "reading of a queue": "Reading of a queue",
    "summary of the support queue": "Summary of the support queue",
    "flag of a person": "Flag of a person",
    "flags of a project": "Flags of a project",
    "roll-up": "Daily sums of a project",
    "outcome of advice": "Outcomes of a person's advice",
    "run points": "Points of a logged run",
    "experiment run": "Status of a logged run",
    "export of runs": "Export of runs",
    "early word": "Running job",
    "early mail to a person": "Mail about running jobs to a person",
    "words for a webhook": "Words for a webhook",
    "check of who waited": "Check of who waited for idle GPUs",
    **{kind.work: kind.figures_title for kind in MONTHS},
}
"""By the kind of `jobs.work_queue.services.Work`."""

COUNTED = {
    "judgement": ("job without analysis,", "jobs without analysis,"),
    "report": ("report", "reports"),
    "link check": ("link check", "link checks"),
    "directory import": ("import of the directory", "imports of the directory"),
    "reading of a queue": ("reading of a queue", "readings of queues"),
    "summary of the support queue": ("summary of the support queue", "summaries of the support queue"),
    "flag of a person": ("flag of a person", "flags of people"),
    "flags of a project": ("project without a check of its flags,", "projects without a check of their flags,"),
    "roll-up": ("project without new daily sums,", "projects without new daily sums,"),
    "outcome of advice": ("person without new outcomes of advice,", "people without new outcomes of advice,"),
    "run points": ("logged run with points to sort,", "logged runs with points to sort,"),
    "experiment run": ("logged run without a new status,", "logged runs without a new status,"),
    "export of runs": ("batch of runs to export", "batches of runs to export"),
    "early word": ("running job that was not looked at,", "running jobs that were not looked at,"),
    "early mail to a person": ("person without mail about running jobs,", "people without mail about running jobs,"),
    "words for a webhook": ("webhook without its words,", "webhooks without their words,"),
    "check of who waited": ("job without a check of who waited,", "jobs without a check of who waited,"),
    **{kind.work: (kind.work, f"months of {kind.title}") for kind in MONTHS},
}
"""What one and several of them are called."""


def waiting(kind: str, count: int) -> str:
    """How much of one kind of `DUE` waits.

    >>> waiting("judgement", 1), waiting("mail", 2)
    ('1 ended job waits for its analysis', '2 messages wait to be sent')
    """
    verb, its = ("waits", "its") if count == 1 else ("wait", "their")
    if kind == "judgement":
        return f"{counted(count, 'ended job')} {verb} for {its} analysis"
    noun, end = {"report": ("report", "made"), "mail": ("message", "sent"), "export": ("run", "exported")}[kind]
    return f"{counted(count, noun)} {verb} to be {end}"


def failing(kind: str, count: int, how: str = "set aside after repeated failures") -> str:
    """How much of one kind failed, and what became of it.

    >>> failing("link check", 2), failing("roll-up", 1, "failing for 2 d")
    ('2 link checks set aside after repeated failures', '1 project without new daily sums, failing for 2 d')
    """
    if kind == "mail to a person":
        return f"Mail to {count:,} {'person' if count == 1 else 'people'} {how}"
    one, several = COUNTED.get(kind, (f"piece of work ({kind})", f"pieces of work ({kind})"))
    return f"{count:,} {one if count == 1 else several} {how}"
