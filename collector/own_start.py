"""What the start of a user's command and the sampling beside it both need, in as little as a start can bear."""

from __future__ import annotations

import os


def is_slurm() -> bool:
    """Whether this is a process of a Slurm job."""
    return os.environ.get("SLURM_JOB_ID", "").isdecimal()


def say(text: str) -> None:
    """A line to the user; the command's own output stays as it is. Nobody may be there to read it."""
    try:
        os.write(2, f"kaiku: {text}\n".encode("utf-8", "replace"))
    except OSError:
        return
