"""The worker of a machine without Redis: it rests between sweeps, and no longer than until something arrives."""

from __future__ import annotations

import threading
import time

import pytest

from jobs.services import record_job
from portal.management.commands import worker
from tests.payloads import job_record
from tests.processes import PATIENCE_S

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.05)


def rested_s(stop: threading.Event, seconds: float) -> float:
    began = time.monotonic()
    worker.wait(stop, seconds, worker.changed_at())
    return time.monotonic() - began


def test_it_rests_while_nothing_arrives() -> None:
    assert 0.3 <= rested_s(threading.Event(), 0.3) < PATIENCE_S


def test_it_goes_on_when_something_arrived_since_it_looked() -> None:
    seen = worker.changed_at()
    record_job(job_record())
    began = time.monotonic()
    worker.wait(threading.Event(), PATIENCE_S, seen)
    assert time.monotonic() - began < PATIENCE_S / 2


def test_it_ends_when_it_is_told_to() -> None:
    stop = threading.Event()
    stop.set()
    assert rested_s(stop, PATIENCE_S) < PATIENCE_S / 2
