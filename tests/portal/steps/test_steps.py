"""The one list of steps: both workers run it in its order, whatever fails; System, `/metrics` and docs name it."""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from celery.schedules import crontab
from django.test import Client
from django.utils import timezone
from kombu.exceptions import OperationalError

from jobs.models import Process, Tally
from portal import tasks
from portal.celery import application
from portal.management.commands import worker
from portal.steps import all_steps, guard
from portal.steps.step import ALONE_S, NIGHTLY, OFTEN, RUN_STEPS, SECONDS, Step, all_due
from portal.system.concerns import concerns
from portal.system.state import system_state
from portal.tasks import beat_schedule, run_steps
from tests.steps import often_local

pytestmark = pytest.mark.django_db

NAMES = [step.name for step in all_steps.STEPS]
DOCS = Path(__file__).parents[3] / "docs" / "operations.md"
Ran = list[tuple[str, int]]


def by_the_beat() -> None:
    """What the beat of this site sends, each message once, in the order of the list."""
    for entry in tasks.beat_schedule().values():
        application.tasks[entry["task"]](*entry["args"])


def by_the_local_worker() -> None:
    worker.run_due({})


BOTH = pytest.mark.parametrize("run_all", [by_the_local_worker, by_the_beat], ids=["local", "Celery"])


@pytest.fixture
def used(settings) -> None:
    """A site that uses every step."""
    settings.QUEUE_CLUSTERS, settings.DIRECTORY_SOURCE, settings.EXPORT_TARGET = ["lumi"], "people.csv", "somewhere"
    settings.WEBHOOKS = True


@pytest.fixture
def ran(used: None, monkeypatch: pytest.MonkeyPatch) -> Ran:
    """What was run of the list, with its bound; no step does anything."""
    seen: Ran = []
    monkeypatch.setattr(all_steps, "STEPS", tuple(recorded(step, seen) for step in all_steps.STEPS))
    return seen


def recorded(step: Step, seen: Ran, error: Exception | None = None) -> Step:
    def run(most: int, now: datetime) -> int:
        seen.append((step.name, most))
        if error:
            raise error
        return 0

    return replace(step, run=run)


def names(seen: Ran) -> list[str]:
    return [name for name, _ in seen]


@BOTH
def test_both_workers_run_every_step_in_the_order_of_the_list(ran: Ran, run_all: Callable[[], None]) -> None:
    run_all()
    assert names(ran) == NAMES


@BOTH
@pytest.mark.parametrize("broken", NAMES)
def test_one_that_fails_stops_no_other_and_is_named_counted_and_logged_once(
    ran: Ran,
    run_all: Callable[[], None],
    broken: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    fails = [recorded(each, ran, ValueError("x") if each.name == broken else None) for each in all_steps.STEPS]
    monkeypatch.setattr(all_steps, "STEPS", fails)
    run_all()
    assert names(ran) == NAMES
    (line,) = (each for each in caplog.records if each.levelno >= logging.WARNING)
    assert line.getMessage() == f"{broken} failed; it runs again when it is due"
    numbers = Client(SERVER_NAME="127.0.0.1").get("/metrics").content.decode()
    failures = dict(re.findall(r'^kaiku_step_failures_total\{step="(\w+)"\} (\S+)$', numbers, re.MULTILINE))
    assert failures == {name: "1.0" if name == broken else "0.0" for name in NAMES}
    ended = re.findall(r'^kaiku_step_ended_timestamp_seconds\{step="(\w+)"\}', numbers, re.MULTILINE)
    assert sorted(ended) == sorted(set(NAMES) - {broken})
    assert re.findall(r'^kaiku_step_failed_timestamp_seconds\{step="(\w+)"\}', numbers, re.MULTILINE) == [broken]
    (title,) = (step.title for step in fails if step.name == broken)
    said = [each.title for each in concerns(system_state(timezone.now()))]
    assert f"Background work ended with an error: {title}" in said


def test_a_step_that_never_ended_is_late_from_when_a_worker_first_knew_it(db: None) -> None:
    now = timezone.now()
    Process.objects.create(name="uan01/abc/1 2 3", kind="worker", version="1", seen_at=now)
    guard.begin(all_steps.STEPS)
    assert not any(each.title.startswith("Not done") for each in concerns(system_state(now)))
    Tally.objects.filter(labels='["roll_up"]').update(last_at=now - timedelta(hours=2))
    guard.begin(all_steps.STEPS)
    late = [each.title for each in concerns(system_state(now)) if each.title.startswith("Not done")]
    assert late == ["Not done for 2 h 00 min: Daily sums"]
    numbers = Client(SERVER_NAME="127.0.0.1").get("/metrics").content.decode()
    assert 'kaiku_step_ended_timestamp_seconds{step="roll_up"}' in numbers


def test_a_step_that_works_again_is_no_concern(ran: Ran, monkeypatch: pytest.MonkeyPatch) -> None:
    for error in (ValueError("x"), None):
        monkeypatch.setattr(all_steps, "STEPS", [recorded(all_steps.STEPS[0], ran, error)])
        often_local()
        said = [each.title for each in concerns(system_state(timezone.now()))]
        title = f"Background work ended with an error: {all_steps.STEPS[0].title}"
        assert (title in said) == (error is not None)


@BOTH
def test_a_new_step_is_one_entry(
    ran: Ran, run_all: Callable[[], None], monkeypatch: pytest.MonkeyPatch, cast: Callable[[str], Client]
) -> None:
    def water(now: datetime) -> int:
        ran.append(("water", 0))
        raise ValueError("no water")

    entry = Step("water_plants", "Watering of the plants", all_due(water), "DELIVER_SECONDS")
    monkeypatch.setattr(all_steps, "STEPS", (*all_steps.STEPS, entry))
    Process.objects.create(name="uan01/abc/1 2 3", kind="worker", version="1", seen_at=timezone.now())
    run_all()
    assert ("water", 0) in ran
    assert len(ran) == len(NAMES) + 1
    page = cast("grace").get("/system/").content.decode()
    assert "Background work ended with an error: Watering of the plants" in page
    numbers = Client(SERVER_NAME="127.0.0.1").get("/metrics").content.decode()
    assert 'kaiku_step_failures_total{step="water_plants"} 1.0' in numbers
    assert 'kaiku_step_period_seconds{step="water_plants"} 60.0' in numbers


def test_a_step_without_its_settings_is_not_run_and_not_late(ran: Ran, settings) -> None:
    settings.QUEUE_CLUSTERS, settings.DIRECTORY_SOURCE, settings.EXPORT_TARGET = [], "", None
    settings.WEBHOOKS = False
    unused = {"read_queue", "find_left_jobs", "import_directory", "export", "plan_posts", "send_posts"}
    by_the_local_worker()
    by_the_beat()
    assert set(names(ran)) == set(NAMES) - unused
    assert not {"QUEUE_SECONDS", "DIRECTORY_SECONDS", "EXPORT_SECONDS"} & beat_schedule().keys()
    settings.QUEUE_CLUSTERS, settings.QUEUE_SECONDS = ["lumi"], 0
    assert "QUEUE_SECONDS" not in beat_schedule()


def test_the_beat_sends_one_message_for_each_period_that_expires_when_the_next_one_comes(used: None, settings) -> None:
    settings.STEP_SECONDS, settings.DELIVER_SECONDS, settings.QUEUE_SECONDS = 7, 61, 121
    entries = beat_schedule()
    ours = {name for name in application.tasks if not name.startswith("celery.")}
    assert {entry["task"] for entry in entries.values()} == {RUN_STEPS} == ours
    assert {name: entry["args"] for name, entry in entries.items()} == {name: (name,) for name in entries}
    assert entries.keys() == {step.every for step in all_steps.STEPS}
    night = entries.pop(NIGHTLY)
    assert night["schedule"] == crontab(hour=3, minute=17)
    assert night["options"] == {"expires": 3600, "soft_time_limit": 1800, "time_limit": 1860}
    assert all(entry["schedule"] == entry["options"]["expires"] for entry in entries.values())
    assert {name: entries[name]["schedule"] for name in (OFTEN, "DELIVER_SECONDS", "QUEUE_SECONDS")} == {
        OFTEN: 7,
        "DELIVER_SECONDS": 61,
        "QUEUE_SECONDS": 121,
    }
    assert (entries[OFTEN]["options"]["soft_time_limit"], entries["QUEUE_SECONDS"]["options"]["soft_time_limit"]) == (
        240,
        1800,
    )
    assert application.conf.beat_schedule.keys() <= entries.keys() | {NIGHTLY}


def test_the_local_worker_gives_no_step_more_than_some_seconds(ran: Ran) -> None:
    by_the_local_worker()
    alone = dict(ran)
    ran.clear()
    by_the_beat()
    timed = {step.name: step.most for step in all_steps.STEPS if step.unit == SECONDS}
    assert {name: alone[name] for name in timed} == dict.fromkeys(timed, ALONE_S)
    assert {name: most for name, most in ran if name in timed} == timed


class Broker:
    """Takes messages, or is away."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error, self.sent = error, list[tuple[tuple[str, str], dict[str, int]]]()

    def apply_async(self, args: tuple[str, str], **options: int) -> None:
        self.sent.append((args, options))
        if self.error:
            raise self.error


def much(monkeypatch: pytest.MonkeyPatch, done: int, broker: Broker, **changes: object) -> list[int]:
    """One step of the list, of which `done` is due each time; the bounds that it was run with."""
    bounds: list[int] = []
    (judge,) = [step for step in all_steps.STEPS if step.name == "judge"]
    step = replace(judge, run=lambda most, now: bounds.append(most) or done, **changes)
    monkeypatch.setattr(all_steps, "STEPS", (step,))
    monkeypatch.setattr(run_steps, "apply_async", broker.apply_async)
    return bounds


@pytest.mark.parametrize(("done", "bounds", "sent"), [(19, [20], 0), (20, [20, 180], 1)])
def test_where_more_is_due_than_one_worker_takes_at_a_time_another_is_called(
    monkeypatch: pytest.MonkeyPatch, done: int, bounds: list[int], sent: int
) -> None:
    broker = Broker()
    seen = much(monkeypatch, done, broker)
    run_steps(OFTEN)
    assert seen == bounds
    assert (
        broker.sent
        == [((OFTEN, "judge"), {"retry": False, "expires": 30, "soft_time_limit": 240, "time_limit": 300})] * sent
    )


def test_a_worker_goes_on_while_the_broker_is_away(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = much(monkeypatch, 20, Broker(OperationalError("away")))
    run_steps(OFTEN)
    assert seen == [20, 180]


def test_the_local_worker_goes_on_at_once_where_much_is_due(monkeypatch: pytest.MonkeyPatch) -> None:
    due_at: dict[str, float] = {}
    much(monkeypatch, 20, Broker(), every="DELIVER_SECONDS")
    assert worker.run_due(due_at)
    assert worker.run_due(due_at)
    much(monkeypatch, 19, Broker(), every="DELIVER_SECONDS")
    assert not worker.run_due(due_at)
    much(monkeypatch, 20, Broker(), every="DELIVER_SECONDS")
    assert not worker.run_due(due_at), "it is not due again"


@pytest.mark.parametrize("is_broker_there", [True, False])
def test_after_a_minute_the_rest_goes_to_a_message_of_its_own(
    ran: Ran, monkeypatch: pytest.MonkeyPatch, is_broker_there: bool
) -> None:
    """A step that takes long, or is ended by the time limit, leaves no less time to those after it."""
    clock, broker = [0.0], Broker(None if is_broker_there else OperationalError("away"))
    slow = [
        replace(step, run=lambda *_: clock.__setitem__(0, 61.0) or 0) if step.name == "judge" else step
        for step in all_steps.STEPS
    ]
    monkeypatch.setattr(all_steps, "STEPS", slow)
    monkeypatch.setattr(run_steps, "apply_async", broker.apply_async)
    monkeypatch.setattr(tasks.time, "monotonic", lambda: clock[0])
    run_steps(OFTEN)
    often = [step.name for step in all_steps.STEPS if step.every == OFTEN and step.name != "judge"]
    assert broker.sent[0] == (
        (OFTEN, "roll_up"),
        {"retry": False, "expires": 3600, "soft_time_limit": 240, "time_limit": 300},
    )
    assert names(ran) == (["sort_points", "follow_runs"] if is_broker_there else often)
    ran.clear()
    clock[0] = -math.inf
    run_steps(*broker.sent[0][0])
    assert names(ran) == often[2:]


def test_the_table_of_the_docs_is_the_list() -> None:
    table = "\n".join(
        line for line in DOCS.read_text().splitlines() if re.fullmatch(r"\| `\w+` \|(?: [^|]+ \|){4}", line)
    )
    assert table == "\n".join(map(row, all_steps.STEPS))


def row(step: Step) -> str:
    every = step.every if step.every == NIGHTLY else f"`{step.every}`"
    most = f"{step.most:,} {step.unit}" if step.most else "–"
    needs = ", ".join(f"`{name}`" for name in step.needs) or "–"
    return f"| `{step.name}` | {step.title} | {every} | {most} | {needs} |"
