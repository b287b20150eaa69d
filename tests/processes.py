"""Programs that a test starts: their ports, their processes, and waiting for what they do."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

PATIENCE_S = 600
"""How long a test waits for what comes within moments, even on a machine that is ten times slower; then it hangs."""


def heed_signals() -> None:
    """A suite that a shell runs in the background, or `nohup`, ignores signals, and so would every program it starts.

    A handler that does nothing is as good for the suite, and is not inherited. SIGINT ends it: `tests/run` sends it.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else lambda *_: None)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def by_load(seconds: float) -> float:
    """So long on a quiet machine, and longer by as much as each processor has to do, up to ten times."""
    average, _, _, running, _ = Path("/proc/loadavg").read_text().split()
    waiting = max(float(average), float(running.partition("/")[0]) - 1)
    return seconds * min(10.0, max(1.0, waiting / (os.cpu_count() or 1)))


def patience(seconds: float) -> float:
    """The longest that may take what takes less than this on a quiet machine, and would never end with a fault."""
    return 5 * by_load(seconds)


def wait_until(what: str, is_so: Callable[[], object], seconds: float = PATIENCE_S) -> None:
    deadline, pause_s = time.monotonic() + seconds, 0.005
    while not is_so():
        assert time.monotonic() < deadline, f"{what}: not after {seconds} s"
        time.sleep(pause_s)
        pause_s = min(2 * pause_s, 0.1)


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and that nobody has asked for yet does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@contextmanager
def held(pid: int) -> Iterator[None]:
    """A process that stands still during the block, and goes on after it."""
    os.kill(pid, signal.SIGSTOP)
    stat = Path(f"/proc/{pid}/stat")
    try:
        wait_until("it to stand still", lambda: stat.read_text().rpartition(")")[2].split()[0] == "T")
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@contextmanager
def ended_after(process: subprocess.Popen) -> Iterator[subprocess.Popen]:
    """A process that leads a session of its own; whatever is left of it, such as its beat, is killed at the end."""
    try:
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def end(process: subprocess.Popen) -> None:
    """Ask a process to end, and kill it if it does not."""
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
