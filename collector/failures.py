"""What the hooks and the sender could not do: a line in the system's log, and one of the next payload's errors.

The file is where a full or read-only disk does not matter. A line contains the job, or nothing, a tab, and the reason;
the hooks' own shell adds a line if Python itself did not start.
"""

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collector.config import Config

BYTES_MAX = 65536
REASON_LENGTH_MAX = 300
REASONS_MAX = 16
LOG = "/dev/log"
WARNING = 28
"""Facility daemon, severity warning: 3 * 8 + 4 (RFC 3164)."""


def note(config: Config, job_id: object, reason: str) -> bool:
    """Log a failure and keep it; false if it could not be kept."""
    line = " ".join(reason.split())[:REASON_LENGTH_MAX]
    to_log(f"job {job_id}: {line}" if job_id else line)
    return _append(config, f"{job_id or ''}\t{line}\n")


def put_back(config: Config, found: list[tuple[int | None, str]]) -> None:
    """Keep again what `take` returned and no payload contains."""
    if not found:
        return
    _append(config, "".join(f"{job_id or ''}\t{reason}\n" for job_id, reason in found))


def _append(config: Config, lines: str) -> bool:
    path = config.failures_file
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        fd = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError:
        return False
    try:
        if os.fstat(fd).st_size < BYTES_MAX:
            os.write(fd, lines.encode("utf-8", "replace"))
    except OSError:
        return False
    finally:
        os.close(fd)
    return True


def to_log(text: str) -> None:
    """One line in the system's log, if there is one; never waits for it."""
    socket = __import__("socket")
    when = time.strftime("%b %e %H:%M:%S")
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as log:
            log.setblocking(False)
            log.sendto(f"<{WARNING}>{when} kaiku[{os.getpid()}]: {text}".encode("utf-8", "replace"), LOG)
    except OSError:
        return


def take(config: Config) -> list[tuple[int | None, str]]:
    """Every failure since the last call, which are then forgotten: (job id, reason)."""
    mine = f"{config.failures_file}.{os.getpid()}"
    try:
        os.rename(config.failures_file, mine)
        with open(mine, encoding="utf-8", errors="replace") as file:
            lines = file.read(2 * BYTES_MAX).splitlines()
        os.unlink(mine)
    except OSError:
        return []
    pairs = (line.partition("\t") for line in lines)
    return [(int(job) if job.isdigit() else None, reason) for job, _, reason in pairs if reason]


def sentences(found: list[tuple[int | None, str]]) -> list[str]:
    """One sentence for each reason, the most frequent first.

    >>> sentences([(7, "prolog: no space"), (8, "prolog: no space"), (None, "ship: no token")])
    ['before on this node, 2 times: prolog: no space', 'before on this node, 1 times: ship: no token']
    """
    counts: dict[str, int] = {}
    for _, reason in found:
        counts[reason] = counts.get(reason, 0) + 1
    by_count = sorted(counts.items(), key=lambda pair: -pair[1])[:REASONS_MAX]
    return [f"before on this node, {count} times: {reason}" for reason, count in by_count]
