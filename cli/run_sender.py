"""Sending the points of a pipe in the background: bounded, in batches, repeated until the portal has them.

This is the process beside the pipe, so nothing here delays the output: one thread reads what the pipe hands over, one
sends. While the portal does not answer, points are kept up to `POINTS_MAX`, then the oldest are dropped and counted.
"""

from __future__ import annotations

import threading
import time
from collections import deque

from cli.errors import CliError, NoAnswer
from cli.run_calls import BATCH, REASONS_MAX

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from cli.run_calls import Runs
    from cli.run_points import Point

POINTS_MAX = 50_000
"""About 20 MB: more than a day of a point a second with two metrics."""
INTERVAL_S = 1.0
PAUSE_S, PAUSE_S_MAX = 0.5, 15.0
"""Before the first repetition of a call that failed, and the longest; each is twice the one before."""
LEFT_S_MIN = 0.1


class Outbox:
    """Points that wait, bounded; those for which there was no room are counted in `dropped`."""

    def __init__(self, points_max: int = POINTS_MAX) -> None:
        self.changed = threading.Condition()
        self.dropped = 0
        self.is_complete = False
        self._points: deque[Point] = deque()
        self._points_max = points_max

    def __len__(self) -> int:
        return len(self._points)

    def add(self, points: list[Point]) -> None:
        with self.changed:
            self._points.extend(points)
            while len(self._points) > self._points_max:
                self._points.popleft()
                self.dropped += 1

    def complete(self) -> None:
        """Nothing more comes."""
        with self.changed:
            self.is_complete = True
            self.changed.notify()

    def batch(self) -> list[Point]:
        """The oldest points, which are then the sender's."""
        with self.changed:
            return [self._points.popleft() for _ in range(min(BATCH, len(self._points)))]

    def pause(self, seconds: float) -> None:
        """Wait, but not longer than until nothing more comes."""
        with self.changed:
            if not self.is_complete:
                self.changed.wait(seconds)


class Sender:
    """Starts the run, sends its points, and reports its end; `stopped` gets the error after which it does nothing more,
    and returns the reason as it is stated."""

    def __init__(
        self,
        outbox: Outbox,
        *,
        runs: Callable[[], Runs],
        start: Callable[[Runs], str],
        stopped: Callable[[CliError], str],
    ) -> None:
        self.outbox = outbox
        self.run_id, self.sent, self.rejected, self.why = "", 0, 0, ""
        self.reasons: dict[str, None] = {}
        self.status = ""
        self.ends_by = 0.0
        self.is_done = False
        self._runs, self._start, self._stopped = runs, start, stopped
        self._batch: list[Point] = []
        self._thread = threading.Thread(target=self._run, daemon=True)

    def begin(self) -> None:
        self._thread.start()

    def end(self, status: str, within_s: float) -> None:
        """Send what is left within this time, then report the status, unless it is empty."""
        self.status, self.ends_by = status, time.monotonic() + within_s
        self.outbox.complete()
        self._thread.join(within_s)

    @property
    def unsent(self) -> int:
        """How many points were read and are not known to be with the portal."""
        return len(self._batch) + len(self.outbox) + self.outbox.dropped

    def _run(self) -> None:
        try:
            runs = self._runs()
            timeout_s = runs.timeout_s
            pause_s = 0.0
            while not self.is_done:
                if self.outbox.is_complete:
                    left_s = self.ends_by - time.monotonic()
                    if left_s < LEFT_S_MIN:
                        return
                    runs.timeout_s = min(timeout_s, left_s)
                try:
                    self._next(runs)
                    pause_s, self.why = 0.0, ""
                except NoAnswer as error:
                    self.why = str(error)
                    pause_s = min(2 * pause_s or PAUSE_S, PAUSE_S_MAX)
                    self._wait(pause_s)
        except CliError as error:
            # A token that has ended, or a run that is not theirs: repeating the call changes nothing.
            self.why = self._stopped(error)

    def _next(self, runs: Runs) -> None:
        """One step: the run first, then points, at last the end."""
        if not self.run_id:
            self.run_id = self._start(runs)
        self._batch = self._batch or self.outbox.batch()
        if self._batch:
            accepted, reasons = runs.log(self.run_id, self._batch)
            self.sent += accepted
            self.rejected += len(self._batch) - accepted
            if len(self.reasons) < REASONS_MAX:
                self.reasons.update(dict.fromkeys(reasons))
            self._batch = []
        elif self.outbox.is_complete:
            if self.status:
                runs.end(self.run_id, self.status)
            self.is_done = True
        if not self.outbox.is_complete and len(self.outbox) < BATCH:
            self.outbox.pause(INTERVAL_S)

    def _wait(self, seconds: float) -> None:
        """A pause before the call is repeated, also while the rest is sent."""
        if self.outbox.is_complete:
            time.sleep(max(0.0, min(seconds, 1.0, self.ends_by - time.monotonic())))
        else:
            self.outbox.pause(seconds)
