"""A hard limit on how long a hook may take."""

from __future__ import annotations

import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


class TooLong(BaseException):
    """The hook has used up its time; whoever goes on after an error of one step does not go on after this."""


def limit(seconds: float) -> None:
    """Raise TooLong in this process after so many seconds of wall clock."""
    signal.signal(signal.SIGALRM, _stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)


def _stop(number: int, frame: FrameType | None) -> None:
    raise TooLong("the time limit of the hook")
