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

SUMMARY, RECORD, RAW = "summary", "record", "raw"
SENT_FIRST = (SUMMARY, RECORD, RAW)
# When the disk allowance is used up: nobody misses raw samples, accounting brings a record back, nothing a summary.
GIVEN_UP_FIRST = (RAW, RECORD, SUMMARY)
RAW_KEPT_NS = 86_400 * 10**9
SET_ASIDE = "set-aside"
SET_ASIDE_FILES_MAX = 200


class Entry:
    """One payload waiting on disk."""

    __slots__ = ("kind", "name", "path")

    def __init__(self, folder: str, name: str) -> None:
        self.name, self.path = name, os.path.join(folder, name)
        self.kind = name.partition("-")[0]


def put(folder: str, kind: str, name: str, content: bytes, max_bytes: float, order: int = 0) -> None:
    """Store one payload for good: it is on disk when this returns. Raises OSError, then nothing was stored.

    `order` says which payloads are older, by default the time in nanoseconds; the same name and order are one payload.
    """
    statefile.private_folder(folder)
    make_room(folder, max_bytes - len(content))
    path = os.path.join(folder, f"{kind}-{order or time.time_ns():020d}-{name}.json")
    statefile.write_bytes(path, content, is_durable=True)


def entries(folder: str) -> Iterator[Entry]:
    """Everything that waits: summaries first and raw samples last, of each kind the oldest first."""
    found = [Entry(folder, name) for name in _listed(folder) if name.endswith(".json")]
    rank = {kind: place for place, kind in enumerate(SENT_FIRST)}
    yield from sorted(found, key=lambda entry: (rank.get(entry.kind, len(rank)), entry.name))


def due(folder: str) -> list[Entry]:
    """All that has to arrive: raw samples may."""
    return [entry for entry in entries(folder) if entry.kind != RAW]


def forget_old_raw(folder: str) -> None:
    """Raw samples that the portal did not take within a day are for nobody any more."""
    for entry in entries(folder):
        written_ns = entry.name.split("-")[1]
        if entry.kind == RAW and written_ns.isdecimal() and time.time_ns() - int(written_ns) > RAW_KEPT_NS:
            done(entry)


def done(entry: Entry) -> None:
    """The portal has it, or it was given up: forget it. Another process may have been quicker."""
    try:
        os.unlink(entry.path)
    except FileNotFoundError:
        return


def resend(folder: str) -> int:
    """Put everything that was set aside back among what waits; how many payloads."""
    aside = os.path.join(folder, SET_ASIDE)
    names = [name for name in _listed(aside) if name.endswith(".json")]
    for name in names:
        os.rename(os.path.join(aside, name), os.path.join(folder, name))
        done(Entry(aside, f"{name}.reason"))
    return len(names)


def set_aside(folder: str, entry: Entry, reason: str) -> None:
    """Keep what the portal will never take out of the way, with what it said; the oldest of them go when many."""
    aside = os.path.join(folder, SET_ASIDE)
    statefile.private_folder(aside)
    os.rename(entry.path, os.path.join(aside, entry.name))
    statefile.write_bytes(os.path.join(aside, f"{entry.name}.reason"), reason.encode()[:2000], is_durable=False)
    for name in sorted(_listed(aside))[:-SET_ASIDE_FILES_MAX]:
        done(Entry(aside, name))


def make_room(folder: str, max_bytes: float) -> int:
    """Give up the oldest entries of the kind that is missed least until the rest fits; how many went."""
    sizes = {entry: _size(entry) for entry in entries(folder)}
    total, given_up = sum(sizes.values()), 0
    for kind in GIVEN_UP_FIRST:
        for entry in [entry for entry in sizes if entry.kind == kind]:
            if total <= max_bytes:
                return given_up
            done(entry)
            total -= sizes[entry]
            given_up += 1
    return given_up


def _size(entry: Entry) -> int:
    """Bytes on disk; none of an entry that was sent or given up since."""
    try:
        return os.stat(entry.path).st_size
    except FileNotFoundError:
        return 0


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
