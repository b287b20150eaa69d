"""A run of the tests ends: what it started and left alive is named, fails the run, and does not hold it up."""

from __future__ import annotations

import concurrent.futures.thread
import faulthandler
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.leaving import EXIT_STATUS
from tests.processes import by_load

GRACE_S = 20.0
"""What ends by itself once the last test has ended is given this long."""
END_S = 9.0
"""A run that has printed its summary is gone within ten seconds, whatever holds it; later only where others compute."""

STANDARD_LIBRARY = str(Path(threading.__file__).parent)

ALIVE: pytest.StashKey[list[str]] = pytest.StashKey()


def living() -> list[str]:
    """Threads that the interpreter would wait for, and the processes below this one, in words."""
    threads = [
        f"thread {thread.name}{_place(thread)}"
        for thread in threading.enumerate()
        if not (thread.daemon or thread is threading.main_thread() or _is_idle(thread))
    ]
    return threads + [f"process {pid}: {_command(pid)}" for pid in descendants(os.getpid())]


def _is_idle(thread: threading.Thread) -> bool:
    """Of a pool that waits for work: it ends with the interpreter."""
    frame = sys._current_frames().get(thread.ident or 0)
    return frame is not None and frame.f_code is concurrent.futures.thread._worker.__code__


def _place(thread: threading.Thread) -> str:
    """Where it is, in the first code that is not of the standard library."""
    frame = sys._current_frames().get(thread.ident or 0)
    while frame is not None and frame.f_code.co_filename.startswith(STANDARD_LIBRARY):
        frame = frame.f_back
    return f" in {frame.f_code.co_qualname} at {frame.f_code.co_filename}:{frame.f_lineno}" if frame else ""


def descendants(pid: int) -> list[int]:
    """The processes that this one started, and those that these started; ended ones do not count."""
    found = []
    for thread in Path(f"/proc/{pid}/task").glob("*"):
        with suppress(OSError):
            for child in map(int, (thread / "children").read_text().split()):
                state = Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[0]
                found += [] if state == "Z" else [child, *descendants(child)]
    return found


def _command(pid: int) -> str:
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return "ended"


@pytest.hookimpl(wrapper=True, trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> Iterator[None]:
    """Every fixture has ended, and the other processes of a suite that is spread; the summary is still to come."""
    yield
    EXIT_STATUS.append(lambda: int(session.exitstatus))
    until = time.monotonic() + by_load(GRACE_S)
    while (alive := living()) and time.monotonic() < until:
        time.sleep(0.05)
    config = session.config
    alive += config.stash.get(ALIVE, [])
    config.stash[ALIVE] = alive
    if hasattr(config, "workeroutput"):
        config.workeroutput["alive"] = alive
    if alive and session.exitstatus == pytest.ExitCode.OK:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What one process of a suite that is spread over several left alive."""
    config = node.config
    told = getattr(node, "workeroutput", {}).get("alive", [])
    config.stash[ALIVE] = [*config.stash.get(ALIVE, []), *(f"{node.gateway.id}: {each}" for each in told)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if alive := config.stash.get(ALIVE, []):
        terminalreporter.section("still alive after the last test", red=True)
        for each in alive:
            terminalreporter.line(each)


@pytest.hookimpl(trylast=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    """The interpreter ends in time, and at once where something would hold it; a process of a suite that is spread
    waits for the others, until the first one ends it."""
    if not hasattr(config, "workerinput"):
        faulthandler.dump_traceback_later(by_load(END_S), exit=True, file=sys.__stderr__)
    if not config.stash.get(ALIVE, []):
        return
    for pid in descendants(os.getpid()):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    if living():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(pytest.ExitCode.TESTS_FAILED)
