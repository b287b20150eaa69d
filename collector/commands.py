"""Running another program within a time limit: a hanging one is ended together with everything that it started."""

from __future__ import annotations

import errno
import os
import signal
import subprocess

TIMEOUT = "/usr/bin/timeout"

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


OUTPUT_BYTES_MAX = 1 << 22


def output(
    command: Sequence[str], timeout_s: float, *, with_errors: bool = False, **environment: str
) -> tuple[int, str]:
    """The exit status and the output, with these variables added. Raises OSError and TimeoutError.

    The command also ends soon after its time if this process is killed meanwhile.
    """
    said = subprocess.STDOUT if with_errors else subprocess.DEVNULL
    pipes: dict[str, Any] = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": said}
    found = _found(command[0])
    bounded = [TIMEOUT, "--signal=KILL", f"{timeout_s + 1:g}"] if os.path.exists(TIMEOUT) else []
    with subprocess.Popen(
        [*bounded, found, *command[1:]], env={**os.environ, **environment}, start_new_session=True, **pipes
    ) as process:
        try:
            printed, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired as error:
            os.killpg(process.pid, signal.SIGKILL)
            raise TimeoutError(f"no answer within {timeout_s:g} s") from error
    return process.returncode, str(printed[:OUTPUT_BYTES_MAX], "utf-8", "replace")


def _found(name: str) -> str:
    """The path of a program; raises OSError if there is none that may be run."""
    folders = [""] if "/" in name else os.get_exec_path()
    paths = [os.path.join(folder, name) for folder in folders]
    there = [path for path in paths if os.path.isfile(path)]
    if not there:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), name)
    allowed = [path for path in there if os.access(path, os.X_OK)]
    if not allowed:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), name)
    return allowed[0]
