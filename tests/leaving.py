"""The last thing that a process of the tests does: it ends, without taking apart what all tests left in memory.

That can take longer than a run is given to end. Imported before anything else that wants to do something at an exit,
so all of that has been done by then. A process that runs no tests, such as a server with the settings of the suite,
ends as any other.
"""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable

EXIT_STATUS: list[Callable[[], int]] = []
"""The status of the run of tests that ended here, if one did."""


@atexit.register
def _leave() -> None:
    if EXIT_STATUS:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(EXIT_STATUS[-1]())
