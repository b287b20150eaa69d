"""The list of steps under a real Celery worker on a real Redis: any of them may fail, and may hang."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

import pytest
from django.utils import timezone

from jobs.tallies.selectors import steps_ended
from portal.steps import all_steps
from portal.system.concerns import concerns
from portal.system.state import system_state
from tests.portal.serving.test_celery import environment as environment
from tests.portal.serving.test_celery import worker
from tests.processes import wait_until

pytestmark = [pytest.mark.celery, pytest.mark.xdist_group("redis"), pytest.mark.django_db(transaction=True)]

NAMES = [step.name for step in all_steps.STEPS]
SEND = """
import json, sys, django; django.setup()
from portal.celery import application
from portal.tasks import beat_schedule
for line in sys.stdin:
    for entry in beat_schedule().values():
        application.send_task(entry["task"], entry["args"], **entry["options"] | {"expires": 600} | json.loads(line))
    print("sent", flush=True)
"""


class Site:
    """A worker whose steps write their names, and the messages that a beat sends it."""

    def __init__(self, folder: Path, beat: subprocess.Popen[str]) -> None:
        self.ran, self.broken, self.beat = folder / "ran", folder / "broken", beat

    def round_with(self, broken: str, **options: int) -> list[str]:
        """What ran of one message for each period, while this step is broken."""
        self.broken.write_text(broken)
        self.ran.write_text("")
        assert self.beat.stdin
        assert self.beat.stdout
        self.beat.stdin.write(f"{json.dumps(options)}\n")
        self.beat.stdin.flush()
        assert self.beat.stdout.readline() == "sent\n"
        wait_until(f"every step beside {broken}", lambda: len(self.names()) >= len(NAMES))
        return self.names()

    def names(self) -> list[str]:
        return self.ran.read_text().split()


@contextmanager
def sender(environment: dict[str, str]) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, "-c", SEND]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, env=environment, **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def site(environment: dict[str, str], tmp_path: Path) -> Iterator[Site]:
    uses = {"QUEUE_CLUSTERS": "lumi", "DIRECTORY_SOURCE": "people.csv", "EXPORT_TARGET": str(tmp_path)}
    (tmp_path / "broken").write_text("")
    used = environment | uses | {"WEBHOOKS": "yes"}
    with worker(used, "first", application="tests.portal.steps.recording"), sender(used) as beat:
        yield Site(tmp_path, beat)


def test_whichever_step_fails_all_others_run_in_the_order_of_the_list(site: Site, tmp_path: Path) -> None:
    for broken in NAMES:
        assert site.round_with(broken) == NAMES
    ended, failed = steps_ended()
    assert set(ended) == set(failed) == set(NAMES)
    last = f"Background work ended with an error: {all_steps.STEPS[-1].title}"
    wait_until("all others to work again", lambda: failing() == [last])
    log = (tmp_path / "first.log").read_text()
    assert [log.count(f"{name} failed; it runs again when it is due") for name in NAMES] == [1] * len(NAMES)


def ended_since(at: datetime) -> set[str]:
    return {name for name, ended_at in steps_ended()[0].items() if ended_at > at}


def failing() -> list[str]:
    titles = [each.title for each in concerns(system_state(timezone.now()))]
    return [title for title in titles if title.startswith("Background work ended")]


def test_a_step_that_hangs_is_ended_by_its_time_limit_and_all_others_run(site: Site, tmp_path: Path) -> None:
    assert site.round_with("") == NAMES  # what a first round has to load counts in no time limit
    wait_until("a first round", lambda: set(NAMES) <= set(steps_ended()[0]))
    began_at = timezone.now()
    # After a minute, as a slow machine may need, the rest of the steps is handed over to a message of its own.
    assert sorted(site.round_with("hanging judge", soft_time_limit=30)) == sorted(NAMES)
    wait_until("all others", lambda: set(NAMES) - {"judge"} <= ended_since(began_at))
    assert ("judge" in ended_since(began_at), set(steps_ended()[1])) == (False, {"judge"})
    assert "SoftTimeLimitExceeded" in (tmp_path / "first.log").read_text()
