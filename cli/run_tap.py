"""What a pipe hands over of its output to the process that reads points in it, without ever waiting for that."""

from __future__ import annotations

import fcntl
import json
import os
import select
import time
from collections import deque

from cli.run_points import GAP

BACKLOG_BYTES_MAX = 16 << 20
SET_PIPE_SIZE, PIPE_BYTES = 1031, 1 << 20  # F_SETPIPE_SZ, fcntl(2); the largest size without privileges
WAIT_MS = 100


class Tap:
    """The near ends of two pipes: one for the output, and one for how it ended.

    What the other process has no time for is kept, up to a bound; then the oldest is left out and counted in `left_out`
    (bytes), as the last values of a run matter most.
    """

    def __init__(self, output: int, ending: int) -> None:
        self.left_out = 0
        self._output, self._ending = output, ending
        self._backlog: deque[bytes] = deque()
        self._size, self._has_gap = 0, False
        os.set_blocking(output, False)
        try:
            fcntl.fcntl(output, SET_PIPE_SIZE, PIPE_BYTES)
        except OSError:
            # A limit of the site: it is the pipe of the usual size then.
            return

    @property
    def is_behind(self) -> bool:
        return bool(self._backlog)

    def offer(self, data: bytes) -> None:
        """Hand over more output."""
        if self._output < 0:
            return
        self._backlog.append(data)
        self._size += len(data)
        self.flush()
        while self._size > BACKLOG_BYTES_MAX:
            dropped = self._backlog.popleft()
            self._size -= len(dropped)
            self.left_out += len(dropped)
            self._has_gap = True

    def flush(self) -> None:
        """Hand over what fits."""
        try:
            if self._has_gap and self._backlog and self._output >= 0:
                # Shorter than what a pipe takes as a whole or not at all.
                os.write(self._output, GAP)
                self._has_gap = False
            while self._backlog and self._output >= 0:
                first = self._backlog[0]
                count = os.write(self._output, first)
                self._size -= count
                if count < len(first):
                    self._backlog[0] = first[count:]
                    return
                self._backlog.popleft()
        except BlockingIOError:
            return
        except OSError:
            self._stop()

    def wait(self, readable: int) -> None:
        """Until there is more to read, or room for what is kept."""
        asked = select.poll()
        asked.register(readable, select.POLLIN)
        if self._backlog and self._output >= 0:
            asked.register(self._output, select.POLLOUT)
        asked.poll()
        self.flush()

    def end(self, status: str, within_s: float) -> None:
        """Hand over the rest, and how the output ended; what does not fit in time is left out."""
        until = time.monotonic() + within_s
        while self._backlog and self._output >= 0 and time.monotonic() < until:
            asked = select.poll()
            asked.register(self._output, select.POLLOUT)
            asked.poll(WAIT_MS)
            self.flush()
        self.left_out += self._size
        said = {"status": status, "left_out": self.left_out, "within_s": max(0.0, until - time.monotonic())}
        try:
            os.write(self._ending, json.dumps(said).encode("ascii"))
        except OSError:
            # The other process has ended.
            self._stop()
        os.close(self._ending)
        if self._output >= 0:
            os.close(self._output)

    def _stop(self) -> None:
        """The other process has ended: the output alone matters."""
        if self._output >= 0:
            os.close(self._output)
        self._output = -1
        self._backlog.clear()
        self._size = 0
