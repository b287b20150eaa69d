"""The kinds of background work as administrators read them: by what is counted."""

from __future__ import annotations

from reports.numbers import counted

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
    "month of advice": "Monthly figures of the advice",
    "month of predictions": "Monthly figures of predictions",
    "month of the site": "Monthly figures of the site",
    "month of the policy export": "Monthly figures of the policy export",
    "anonymised month": "Monthly rows for other sites",
}
"""By the kind of `jobs.failures.services.Work`."""

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
    "month of advice": ("month of the figures of advice", "months of the figures of advice"),
    "month of predictions": ("month of the figures of predictions", "months of the figures of predictions"),
    "month of the site": ("month of the site's figures", "months of the site's figures"),
    "month of the policy export": ("month of the policy export", "months of the policy export"),
    "anonymised month": ("anonymised month", "anonymised months"),
}
"""What one and several of them are called."""

SWEEPS = {
    "follow_up": "analysis, reports and sums",
    "watch": "running jobs",
    "deliver": "mail",
    "escalate": "flags, the policy export and the rows for other sites",
    "check_links": "link check",
    "import_directory": "directory import",
    "read_queue": "reading of the queue",
    "expire": "deletion of old data",
    "export": "export of runs",
    "backtest_waits": "check of wait estimates",
    "check_predictions": "check of predictions",
}
"""By the name of the task."""


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


def set_aside(kind: str, count: int) -> str:
    """How much of one kind failed too often to be retried.

    >>> set_aside("link check", 2)
    '2 link checks set aside after repeated failures'
    """
    if kind == "mail to a person":
        return f"Mail to {count:,} {'person' if count == 1 else 'people'} set aside after repeated failures"
    one, several = COUNTED.get(kind, (f"piece of work ({kind})", f"pieces of work ({kind})"))
    return f"{count:,} {one if count == 1 else several} set aside after repeated failures"
