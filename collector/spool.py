"""Payloads on disk until the portal has acknowledged them: whole files, oldest first, never more than allowed.

A file is `<kind>-<nanoseconds>-<name>.json`; what cannot be sent as it is goes to `set-aside/`, with the reason, and
never blocks the rest.
"""

from __future__ import annotations

import os
import time

from collector import statefile

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SUMMARY, RECORD = "summary", "record"
# What is given up first when the disk allowance is used up: accounting brings a record back, nothing a summary.
GIVEN_UP_FIRST = (RECORD, SUMMARY)
SET_ASIDE = "set-aside"
SET_ASIDE_FILES_MAX = 200


class Entry:
    """One payload waiting on disk."""

    __slots__ = ("kind", "name", "path")

    def __init__(self, folder: str, name: str) -> None:
        self.name, self.path = name, os.path.join(folder, name)
        self.kind = name.partition("-")[0]


def put(folder: str, kind: str, name: str, content: bytes, max_bytes: float) -> None:
    """Store one payload for good: it is on disk when this returns. Raises OSError, then nothing was stored."""
    statefile.private_folder(folder)
    make_room(folder, max_bytes - len(content))
    path = os.path.join(folder, f"{kind}-{time.time_ns():020d}-{name}.json")
    statefile.write_bytes(path, content, is_durable=True)


def entries(folder: str) -> Iterator[Entry]:
    """Everything that waits, oldest first, summaries before records."""
    names = [name for name in _listed(folder) if name.endswith(".json")]
    yield from (Entry(folder, name) for name in sorted(names, key=lambda name: (name.startswith(RECORD), name)))


def done(entry: Entry) -> None:
    """The portal has it: forget it."""
    os.unlink(entry.path)


def set_aside(folder: str, entry: Entry, reason: str) -> None:
    """Keep what the portal will never take out of the way, with what it said; the oldest of them go when many."""
    aside = os.path.join(folder, SET_ASIDE)
    statefile.private_folder(aside)
    os.rename(entry.path, os.path.join(aside, entry.name))
    statefile.write_bytes(os.path.join(aside, f"{entry.name}.reason"), reason.encode()[:2000], is_durable=False)
    for name in sorted(_listed(aside))[:-SET_ASIDE_FILES_MAX]:
        os.unlink(os.path.join(aside, name))


def make_room(folder: str, max_bytes: float) -> int:
    """Give up the oldest entries of the kind that is missed least until the rest fits; how many went."""
    sizes = {entry: os.stat(entry.path).st_size for entry in entries(folder)}
    total, given_up = sum(sizes.values()), 0
    for kind in GIVEN_UP_FIRST:
        for entry in [entry for entry in sizes if entry.kind == kind]:
            if total <= max_bytes:
                return given_up
            os.unlink(entry.path)
            total -= sizes[entry]
            given_up += 1
    return given_up


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
