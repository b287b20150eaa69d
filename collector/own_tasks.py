"""The tasks of a step on one node that run a command under `run`: who is the last of them, and how each one ended.

Every task holds a shared lock on one file while its command runs; the kernel releases it however the task ends. The
task that gets the lock exclusively is the last one.
"""

from __future__ import annotations

import fcntl
import os
import time

from collector import statefile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

TRIES, PAUSE_S = 5, 0.005
"""The sampling process checks at each tick whether any task is left, which takes a moment."""


class OwnTasks:
    """This process among the tasks of its step; raises OSError if the file does not belong to this user."""

    def __init__(self, path: str) -> None:
        self.path = path
        while True:
            self.fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
            if os.fstat(self.fd).st_uid != os.getuid():
                raise PermissionError(f"{path} belongs to another user")
            fcntl.flock(self.fd, fcntl.LOCK_SH)
            if statefile.is_same(path, self.fd):
                return
            # A task that had the lock exclusively removed the file since it was opened.
            os.close(self.fd)

    def end(self, status: int, usage: Any) -> list[tuple[int, float, float]] | None:
        """Record how this task's command ended; for the last one: each task's wait status, user and system seconds."""
        os.write(self.fd, f"{status} {usage.ru_utime:.3f} {usage.ru_stime:.3f}\n".encode())
        fcntl.flock(self.fd, fcntl.LOCK_UN)
        for _ in range(TRIES):
            if alone(self.fd):
                os.unlink(self.path)
                return self._ended()
            time.sleep(PAUSE_S)
        return None

    def _ended(self) -> list[tuple[int, float, float]]:
        rows = [line.split() for line in os.pread(self.fd, 1 << 20, 0).decode("ascii", "replace").splitlines()]
        return [(int(status), float(user_s), float(system_s)) for status, user_s, system_s in rows]


def alone(fd: int) -> bool:
    """Take the lock exclusively, if nobody else holds it."""
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
