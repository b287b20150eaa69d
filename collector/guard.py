"""A hard limit on how long a hook, or the start of a user's run, may take."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


# The module `signal` imports `enum`, which would take a noticeable part of a hook's time.
SIGNALS = __import__("_signal")


class TooLong(BaseException):
    """The time limit is over; code that continues after an error of one step must not continue after this."""


def limit(seconds: float) -> None:
    """Raise TooLong in this process after this many seconds of wall-clock time."""
    SIGNALS.signal(SIGNALS.SIGALRM, _stop)
    SIGNALS.setitimer(SIGNALS.ITIMER_REAL, seconds)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooLong("no answer in time")
