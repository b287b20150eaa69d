"""The pager of a terminal: the person's own, else `less -R`, which shows colours and obeys nothing else."""

from __future__ import annotations

import shlex
import shutil
import subprocess

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def show(content: bytes, environ: Mapping[str, str]) -> bool:
    """Whether a pager showed it: not if none is found, or if the person wants none (`KAIKU_PAGER=`, or `cat`)."""
    named = environ.get("KAIKU_PAGER", environ.get("PAGER") or "less -R")
    try:
        command = shlex.split(named)
    except ValueError:
        return False
    program = shutil.which(command[0]) if command else None
    if program is None or command == ["cat"]:
        return False
    # FRX: end at once if it fits, show colours, leave the text on the screen.
    process = subprocess.Popen([program, *command[1:]], stdin=subprocess.PIPE, env={"LESS": "FRX", **environ})
    try:
        process.communicate(content)
    except BrokenPipeError:
        process.wait()
    except KeyboardInterrupt:
        # The pager got it too, and decides itself.
        process.wait()
    return True
