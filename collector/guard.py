"""A hard limit on how long a hook, or the beginning of a user's run, may take."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


# The module `signal` loads `enum`, which would be a part of a hook's time that can be seen.
SIGNALS = __import__("_signal")


class TooLong(BaseException):
    """The time is used up; whoever goes on after an error of one step does not go on after this."""


def limit(seconds: float) -> None:
    """Raise TooLong in this process after so many seconds of wall clock."""
    SIGNALS.signal(SIGNALS.SIGALRM, _stop)
    SIGNALS.setitimer(SIGNALS.ITIMER_REAL, seconds)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooLong("nothing answered in time")
