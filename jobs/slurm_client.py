"""Running Slurm's own commands, mostly `sacct` and `squeue`: the only place where this package starts a process."""

import os
import re
import secrets
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from jobs.queue.squeue import queue_format
from jobs.sacct import SACCT_FIELDS
from wire.safe_text import printable

# 1.6 million jobs of one week took sacct 79 s at a large site; a day of LUMI is far below that.
TIMEOUT_S = 600.0
QUEUE_TIMEOUT_S = 60.0
"""squeue lists twenty thousand jobs in a second or two, and sacct some jobs by number; later while Slurm is busy."""

MESSAGE_LENGTH_MAX = 500
# Variables that would change what is printed, or of which cluster: sacct(1), squeue(1), "Environment Variables".
UNWANTED_VARIABLES = re.compile(r"SACCT_.*|SQUEUE_.*|SLURM_TIME_FORMAT|SLURM_CLUSTERS")
# Times are UTC, and the list of an array's pending tasks is printed whole.
WANTED_VARIABLES = {"TZ": "UTC", "SLURM_BITSTR_LEN": "0"}


class SlurmClientError(RuntimeError):
    """A command is missing, failed, or took too long; the message states which, with its output."""


@dataclass(frozen=True)
class SlurmOutput:
    """What sacct or squeue printed, times in UTC, and the delimiter that was drawn for this call."""

    text: str
    delimiter: str


def accounting(
    since: datetime, *, cluster: str, only: Sequence[int] | None = None, sacct: str = "sacct",
    timeout_s: float = TIMEOUT_S,
) -> SlurmOutput:  # fmt: skip
    """Every job of every user that was in the queue or running since an aware instant, each attempt of it; `only` these
    numbers if given, which are used again over time.

    Allocations only, and only the fields of `SACCT_FIELDS` that this sacct knows. The delimiter is a fresh random
    token, so that no job name can look like a column or a row. Raises SlurmClientError.
    """
    delimiter = _fresh_delimiter()
    known = set(re.findall(r"\w+", command_output([sacct, "--helpformat"], timeout_s)))
    fields = ",".join(field for field in SACCT_FIELDS if field in known)
    which = [] if only is None else [f"--jobs={','.join(str(job_id) for job_id in only)}"]
    what = ["--duplicates", "--allusers", "--allocations", f"--clusters={cluster}", *which]
    how = ["--starttime", _local(since), "--parsable2", f"--delimiter={delimiter}", f"--format={fields}"]
    return SlurmOutput(command_output([sacct, *what, *how], timeout_s), delimiter)


def queue(cluster: str, *, squeue: str = "squeue", timeout_s: float = QUEUE_TIMEOUT_S) -> SlurmOutput:
    """Every pending and running job of every user, in the fields of `QUEUE_FIELDS`. Raises SlurmClientError."""
    mark = _fresh_delimiter()
    what = [f"--clusters={cluster}", "--all", "--noheader", f"--Format={queue_format(mark)}"]
    return SlurmOutput(command_output([squeue, *what], timeout_s), mark)


def _fresh_delimiter() -> str:
    return f"\x1f{secrets.token_hex(16)}\x1f"


def _local(moment: datetime) -> str:
    """An instant as sacct reads it under TZ=UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S")


def command_output(command: Sequence[str], timeout_s: float) -> str:
    """What a Slurm command prints, times in UTC. Raises SlurmClientError."""
    try:
        done = subprocess.run(
            command, capture_output=True, stdin=subprocess.DEVNULL, timeout=timeout_s, env=_environment(), check=False
        )
    except subprocess.TimeoutExpired as error:
        raise SlurmClientError(f"{command[0]} did not answer within {timeout_s:g} s") from error
    except OSError as error:
        raise SlurmClientError(f"{command[0]} cannot be started: {error.strerror}") from error
    if done.returncode:
        said = printable(" ".join(done.stderr.decode(errors="replace").split())[:MESSAGE_LENGTH_MAX])
        raise SlurmClientError(f"{command[0]} ended with status {done.returncode}: {said or 'no message'}")
    return done.stdout.decode(errors="replace")


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not UNWANTED_VARIABLES.fullmatch(name)}
    return kept | WANTED_VARIABLES
