"""A master killed with -9 leaves nothing that keeps the next one from its work."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import redis

from tests.parts import REDIS_URL, empty_redis
from tests.processes import PATIENCE_S, children, ended_after, is_alive, wait_until

CHECKOUT = Path(__file__).resolve().parents[3]


@contextmanager
def running(environment: dict[str, str], *command: str) -> Iterator[subprocess.Popen]:
    """A program of this environment; whatever is left of it is killed at the end."""
    program = Path(sys.executable).with_name(command[0])
    with Path(environment["KAIKU_VAR_DIR"], f"{command[0]}.log").open("ab") as log:
        process = subprocess.Popen(
            [program, *command[1:]],
            cwd=CHECKOUT,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    with ended_after(process):
        yield process


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    empty_redis()
    return os.environ | {"REDIS_URL": REDIS_URL, "KAIKU_VAR_DIR": str(tmp_path), "STEP_SECONDS": "4"}


def of_workers(test: Callable[..., None]) -> Callable[..., None]:
    """Runs with the tests of workers, one after the other: they share one Redis."""
    for mark in (pytest.mark.celery, pytest.mark.django_db, pytest.mark.xdist_group("redis")):
        test = mark(test)
    return test


def holder() -> bytes | None:
    return redis.from_url(REDIS_URL).get("kaiku:beat")


WORKER = ("celery", "-A", "portal", "worker", "--beat", "--concurrency", "1", "--loglevel", "INFO")


@of_workers
def test_a_killed_worker_takes_its_beat_and_its_pool_with_it(environment: dict[str, str]) -> None:
    with running(environment, *WORKER) as first:
        wait_until("the beat sends", holder)
        left, before = children(first.pid), holder()
        assert len(left) == 2
        first.kill()
        first.wait()
        wait_until("its processes end", lambda: not any(map(is_alive, left)))
        with running(environment, *WORKER):
            wait_until("the next beat sends", lambda: holder() not in (None, before))


@of_workers
def test_a_beat_that_is_killed_alone_is_started_again(environment: dict[str, str]) -> None:
    with running(environment, *WORKER):
        wait_until("the beat sends", holder)
        before = holder()
        os.kill(beat_pid(), signal.SIGKILL)
        wait_until("the next beat sends", lambda: holder() not in (None, before))
        assert is_alive(beat_pid())


def beat_pid() -> int:
    """The process of the beat that sends, as its lease names it."""
    return int(holder().split()[-2])


@of_workers
def test_of_two_beats_one_sends_and_the_other_goes_on_where_it_ended(environment: dict[str, str]) -> None:
    log = Path(environment["KAIKU_VAR_DIR"], "celery.log")
    with running(environment, *WORKER, "-n", "one@%h"), running(environment, *WORKER, "-n", "two@%h") as second:
        wait_until("both work", lambda: log.read_text().count(" ready.") == 2)
        wait_until("a beat says that it sends", lambda: "this beat sends from now on" in log.read_text())
        before = holder()
        time.sleep(3)
        assert holder() == before
        assert log.read_text().count("this beat sends from now on") == 1
        second.terminate()
        second.wait(PATIENCE_S)
        wait_until("one of them sends", holder)
