"""The schedule of background work: every task of it exists, and nothing waits longer than until its next message."""

from __future__ import annotations

from typing import Any

from celery.schedules import crontab
from django.conf import settings

from portal.celery import application
from portal.schedule import beat_schedule

NIGHTLY = {"expire", "backtest-waits", "check-predictions"}


def schedule_of(**optional: int | None) -> dict[str, Any]:
    return beat_schedule(sweep_seconds=7, deliver_seconds=61, flag_seconds=3601, watch_seconds=63, **optional)


def test_the_beat_sends_what_the_schedule_names_and_each_of_its_tasks_exists() -> None:
    application.loader.import_default_modules()
    assert (
        settings.CELERY_BEAT_SCHEDULE.keys() == {"follow-up", "deliver", "escalate", "watch", "check-links"} | NIGHTLY
    )
    whole = schedule_of(directory_seconds=900, queue_seconds=120, export_seconds=300)
    assert {entry["task"] for entry in whole.values()} <= application.tasks.keys()


def test_a_message_expires_when_the_next_one_comes() -> None:
    entries = schedule_of(directory_seconds=901, queue_seconds=121, export_seconds=301)
    for name in NIGHTLY:
        assert isinstance(entries.pop(name)["schedule"], crontab)
    pauses = {name: (entry["schedule"], entry["options"]["expires"]) for name, entry in entries.items()}
    assert pauses == {
        "follow-up": (7, 7),
        "deliver": (61, 61),
        "escalate": (3601, 3601),
        "watch": (63, 63),
        "check-links": (60, 60),
        "import-directory": (901, 901),
        "read-queue": (121, 121),
        "export": (301, 301),
    }
    least = schedule_of(directory_seconds=None, queue_seconds=None, export_seconds=None)
    assert not {"import-directory", "read-queue", "export"} & least.keys()
