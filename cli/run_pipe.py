"""`kaiku run-log pipe`: the output passes unchanged and at once; a second process reads points in it and sends them.

The first process only copies: nothing that the portal, the network or a line does can delay it. It ends as a pipe
element does: with the end of its input, when nobody reads its output, and by a signal. After a signal it still passes
on what a program that got the same signal prints, for some seconds.
"""

from __future__ import annotations

import json
import os
import select
import signal
import time

from cli.errors import CliError
from cli.run_points import Reader
from cli.run_sender import Outbox, Sender
from cli.run_tap import Tap
from cli.terminal import harmless
from wire.numbers import counted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType
    from typing import Any

    from cli.run_calls import Runs
    from cli.session import Session

COPY_BYTES = 1 << 16
READ_BYTES = 1 << 16
SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
GRACE_S = 30
"""How long output is passed on after a signal: as long as Slurm leaves a program to end (KillWait, slurm.conf(5))."""
CUT_WAIT_S = 3.0
"""How long the portal is waited for after a signal, or when nobody reads the output."""
SLACK_S = 2.0
NO_TIME = "no time was left"
ENDED, KILLED, FAILED = "FINISHED", "KILLED", "FAILED"


class Pipe:
    """The process that copies."""

    def __init__(self, wait_s: float) -> None:
        self.signal, self.is_over = 0, False
        self._wait_s = wait_s
        self._heeded = [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]

    def run(self, start: Callable[[Runs], str], session: Session, *, ends_run: bool) -> int:
        """Pass everything on; the exit status. Raises CliError if the output cannot be passed on."""
        output, ending = os.pipe(), os.pipe()
        child = os.fork()
        if not child:
            os.close(output[1])
            os.close(ending[1])
            _beside(Beside(session, start, ends_run=ends_run), output[0], ending[0])
        os.close(output[0])
        os.close(ending[0])
        self.tap, self.child = Tap(output[1], ending[1]), child
        for number in self._heeded:
            signal.signal(number, self._noted)
        signal.signal(signal.SIGALRM, self._cut)
        try:
            self._copy()
        except BrokenPipeError:
            # Whoever writes to us learns it by the same signal, now.
            os.close(0)
            self.signal = self.signal or signal.SIGPIPE
        except OSError as error:
            os.close(0)
            self._finish(FAILED, min(self._wait_s, CUT_WAIT_S))
            raise CliError(f"the output cannot be passed on: {error.strerror}") from error
        if not self.signal:
            os.close(1)
            self._finish(ENDED, self._wait_s)
            return 0
        self._end_by(self.signal)
        return 128 + self.signal

    def _copy(self) -> None:
        while True:
            if self.tap.is_behind:
                self.tap.wait(0)
            try:
                if self.tap.is_behind and not _is_ready(0):
                    continue
                data = os.read(0, COPY_BYTES)
            except BlockingIOError:
                self.tap.wait(0)
                continue
            if not data:
                return
            _write(data)
            self.tap.offer(data)

    def _noted(self, number: int, _: FrameType | None) -> None:
        """A first signal: the program before us got it as well, as a rule, and its last words are passed on."""
        if self.is_over:
            self._die(number)
        self.signal = number
        for each in self._heeded:
            signal.signal(each, self._cut)
        signal.alarm(GRACE_S)

    def _cut(self, number: int, _: FrameType | None) -> None:
        """A second signal, or the end of the grace."""
        self._end_by(self.signal or number)

    def _end_by(self, number: int) -> None:
        """Report that the run was killed, and end by this signal."""
        for each in (*SIGNALS, signal.SIGALRM):
            signal.signal(each, signal.SIG_IGN)
        self._finish(KILLED, min(self._wait_s, CUT_WAIT_S))
        self._die(number)

    def _die(self, number: int) -> None:
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)

    def _finish(self, status: str, wait_s: float) -> None:
        """Wait for the other process, not longer than this and a little."""
        self.is_over = True
        until = time.monotonic() + wait_s + SLACK_S
        self.tap.end(status, wait_s)
        while time.monotonic() < until:
            try:
                if os.waitpid(self.child, os.WNOHANG)[0]:
                    return
            except ChildProcessError:
                return
            time.sleep(0.01)
        os.kill(self.child, signal.SIGKILL)


def _is_ready(descriptor: int) -> bool:
    asked = select.poll()
    asked.register(descriptor, select.POLLIN)
    return bool(asked.poll(0))


def _write(data: bytes) -> None:
    """All of it, also where the output was set not to block."""
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(1, view) :]
        except BlockingIOError:
            asked = select.poll()
            asked.register(1, select.POLLOUT)
            asked.poll()


class Beside:
    """The process that reads points and sends them. It has neither the input nor the output of the pipe."""

    def __init__(self, session: Session, start: Callable[[Runs], str], *, ends_run: bool) -> None:
        self._session, self._ends_run = session, ends_run
        self._reader = Reader(time.time)
        self.sender = Sender(Outbox(), runs=self._runs, start=start, stopped=self._stopped)

    def run(self, output: int, ending: int) -> None:
        """Read until the pipe ends, then send what is left."""
        self.sender.begin()
        while part := os.read(output, READ_BYTES):
            for points in self._reader.points(part):
                self.sender.outbox.add(points)
        for points in self._reader.last():
            self.sender.outbox.add(points)
        said = _ending(ending)
        status = str(said["status"]) if self._ends_run else ""
        self.sender.end(status, float(said["within_s"]))
        self._report(int(said["left_out"]))

    def _runs(self) -> Runs:
        calls = __import__("cli.run_calls", fromlist=["Runs"])
        runs: Runs = calls.Runs(self._session.portal, self._session.timeout_s)
        return runs

    def _stopped(self, error: CliError) -> str:
        """Nothing more is logged: the person learns it now, if the output may still go on for days."""
        why = str(self._session.explained(error))
        if not self.sender.outbox.is_complete:
            self._session.terminal.error(f"kaiku: no points are logged from now on: {harmless(why)}")
        return why

    def _report(self, left_out: int) -> None:
        """What was logged, and what was not and why."""
        sender, terminal = self.sender, self._session.terminal
        lost = sender.unsent + sender.rejected + self._reader.unnamed
        if sender.run_id and (sender.sent or not lost) and not self._session.options.flag("quiet"):
            page = harmless(f"{self._session.address}/runs/{sender.run_id}/")
            terminal.error(f"kaiku: {counted(sender.sent, 'point')} logged, {page}")
        if lost:
            read = sender.sent + lost
            too_many = "more than 1,000 metrics" if self._reader.unnamed else ""
            because = "; ".join(dict.fromkeys(filter(None, (sender.why, *sender.reasons, too_many))))
            terminal.error(f"kaiku: {lost:,} of {counted(read, 'point')} not logged: {harmless(because or NO_TIME)}")
        elif not sender.is_done:
            what = "the end of the run" if sender.run_id else "the run"
            terminal.error(f"kaiku: {what} is not logged: {harmless(sender.why or NO_TIME)}")
        if left_out:
            terminal.error(f"kaiku: no points were read from {left_out:,} bytes of output, which came too fast")


def _beside(beside: Beside, output: int, ending: int) -> None:
    """The life of the second process; it never returns."""
    try:
        for number in (*SIGNALS, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        for descriptor in (0, 1):
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, descriptor)
            os.close(nothing)
        beside.run(output, ending)
    except Exception as error:
        beside.sender.outbox.complete()
        os.write(2, f"kaiku: run-log ended early: {type(error).__name__}\n".encode("ascii", "replace"))
    finally:
        os._exit(0)


def _ending(ending: int) -> dict[str, Any]:
    """How the pipe ended; one that was killed states nothing."""
    parts = b""
    while part := os.read(ending, 4096):
        parts += part
    found: dict[str, Any] = json.loads(parts) if parts else {"status": KILLED, "left_out": 0, "within_s": CUT_WAIT_S}
    return found
