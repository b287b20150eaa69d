"""Running Slurm's own commands, mostly `sacct`: the only place where this package starts a process."""

from __future__ import annotations

import os
import re
import secrets
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from jobs.records import printable
from jobs.sacct import SACCT_FIELDS

# 1.6 million jobs of one week took sacct 79 s at a large site; a day of LUMI is far below that.
TIMEOUT_S = 600.0
MESSAGE_LENGTH_MAX = 500
# Variables that would change what sacct prints, or of which cluster: sacct(1), "Environment Variables".
UNWANTED_VARIABLES = re.compile(r"SACCT_.*|SLURM_TIME_FORMAT|SLURM_CLUSTERS")


class SlurmClientError(RuntimeError):
    """sacct is missing, failed, or took too long; the message states which, with its output."""


@dataclass(frozen=True)
class SacctOutput:
    """What sacct printed, times in UTC, and the delimiter that was drawn for this call."""

    text: str
    delimiter: str


def accounting(
    since: datetime,
    until: datetime | None = None,
    *,
    cluster: str,
    sacct: str = "sacct",
    timeout_s: float = TIMEOUT_S,
) -> SacctOutput:
    """Every job of every user that was in the queue or running between two aware instants, each attempt of it.

    Allocations only, and only the fields of `SACCT_FIELDS` that this sacct knows. The delimiter is a fresh random
    token, so that no job name can look like a column or a row. Raises SlurmClientError.
    """
    delimiter = f"\x1f{secrets.token_hex(16)}\x1f"
    known = set(re.findall(r"\w+", command_output([sacct, "--helpformat"], timeout_s)))
    window = ["--starttime", _local(since), *(["--endtime", _local(until)] if until else [])]
    fields = ",".join(field for field in SACCT_FIELDS if field in known)
    what = ["--duplicates", "--allusers", "--allocations", f"--clusters={cluster}", *window]
    how = ["--parsable2", f"--delimiter={delimiter}", f"--format={fields}"]
    return SacctOutput(command_output([sacct, *what, *how], timeout_s), delimiter)


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
    return kept | {"TZ": "UTC"}
