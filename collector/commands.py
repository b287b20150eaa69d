"""Running another program within a time limit: a hanging one ends together with everything that it started."""

from __future__ import annotations

import os
import signal
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


def output(command: Sequence[str], timeout_s: float, **environment: str) -> tuple[int, str]:
    """The exit status and what was printed, with these variables added. Raises OSError and TimeoutError."""
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, env={**os.environ, **environment}, start_new_session=True, **pipes) as process:
        try:
            printed, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            raise TimeoutError(f"no answer within {timeout_s:g} s") from error
    return process.returncode, str(printed, "utf-8", "replace")
