"""`manage.py worker`, the background work without Redis: the backtest of waits once a day, whatever else happens."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from threading import Event
from types import SimpleNamespace

import pytest
from django.utils import timezone

from analysis.models import WaitRange
from analysis.queue_waits import services
from portal.management.commands import worker
from portal.steps import all_steps
from portal.steps.step import all_due
from tests.analysis.queue_waits.test_stored import store_runs

pytestmark = pytest.mark.django_db(transaction=True)

HOUR_S = 3600.0
UNTIL_S = 50 * HOUR_S
PAUSE_S = 2700.0


class Clock:
    """Time that passes while the worker waits, and the worker's end after fifty hours."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def wait(self, stop: Event, seconds: float, seen: datetime | None) -> None:
        self.now_s += seconds
        if self.now_s > UNTIL_S:
            stop.set()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Iterator[Clock]:
    made = Clock()
    monkeypatch.setattr(worker, "time", SimpleNamespace(monotonic=made.monotonic))
    monkeypatch.setattr(worker, "wait", made.wait)
    monkeypatch.setattr(worker, "keep_saying", lambda kind: None)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGINT)}
    yield made
    for number, handler in handlers.items():
        signal.signal(number, handler)


def test_the_embedded_worker_keeps_ranges_once_a_day_also_after_one_that_failed(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_runs(timezone.now())
    calls: list[tuple[int, int]] = []

    def keep_ranges(now: datetime) -> int:
        """The real one; the second fails."""
        number = len(calls)
        calls.append((round(clock.now_s / HOUR_S), WaitRange.objects.count()))
        if number == 1:
            raise RuntimeError("the second")
        return services.keep_ranges(now)

    (step,) = [step for step in all_steps.STEPS if step.name == "backtest_waits"]
    monkeypatch.setattr(all_steps, "STEPS", [replace(step, run=all_due(keep_ranges))])
    worker.Command().handle(seconds=PAUSE_S)
    # At the start and after each day: 32 rounds of 45 minutes. Ranges of the whole cluster and of its one partition
    # are there after the first, and still after the one that failed.
    assert calls == [(0, 0), (24, 2), (48, 2)]
    assert WaitRange.objects.count() == 2
