"""The schedule of background work: which task the beat sends, and how often. Which beat sends: `portal/beat_lease.py`.

Each task finds what is due in the database, so a message that is lost or late costs a short delay and nothing else.
"""

from __future__ import annotations

from typing import Any

from celery.schedules import crontab

LINKS_SECONDS = 60
EXPIRES_S = 3600

NIGHTLY = {
    "expire": ("portal.tasks.expire", crontab(hour=3, minute=17)),
    "backtest-waits": ("portal.tasks.backtest_waits", crontab(hour=4, minute=17)),
    "check-predictions": ("portal.tasks.check_predictions", crontab(hour=4, minute=37)),
}
"""At a time of day, not at an interval: with the loss of its host the beat forgets when it ran last."""


def beat_schedule(
    *,
    sweep_seconds: int,
    deliver_seconds: int,
    flag_seconds: int,
    watch_seconds: int,
    directory_seconds: int | None,
    queue_seconds: int | None,
    export_seconds: int | None,
) -> dict[str, Any]:
    """The entries of `CELERY_BEAT_SCHEDULE`.

    Without `directory_seconds` no directory is imported, without `queue_seconds` no queue is read, without
    `export_seconds` no run is exported.
    """
    every: list[tuple[str, str, int]] = [
        ("follow-up", "portal.tasks.follow_up", sweep_seconds),
        ("deliver", "reports.tasks.deliver", deliver_seconds),
        ("escalate", "portal.tasks.escalate", flag_seconds),
        ("watch", "portal.tasks.watch", watch_seconds),
        ("check-links", "education.tasks.check_links", LINKS_SECONDS),
    ]
    if directory_seconds is not None:
        every.append(("import-directory", "jobs.tasks.import_directory", directory_seconds))
    if queue_seconds is not None:
        every.append(("read-queue", "jobs.tasks.read_queue", queue_seconds))
    if export_seconds is not None:
        every.append(("export", "reports.tasks.export", export_seconds))
    # A wake-up message that no worker took before the next one comes has no value.
    entries = {
        name: {"task": task, "schedule": seconds, "options": {"expires": seconds}} for name, task, seconds in every
    }
    return entries | {
        name: {"task": task, "schedule": at_night, "options": {"expires": EXPIRES_S}}
        for name, (task, at_night) in NIGHTLY.items()
    }
