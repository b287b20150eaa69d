"""Payloads on disk until the portal has acknowledged them: complete files, oldest first, never more than allowed.

A file is `<kind>-<nanoseconds>-<name>.json`; a payload that cannot be sent as it is is moved to `set-aside/`, with the
reason, and never blocks the others.
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
# When the disk allowance is used up: raw samples are optional, accounting can replace a record, nothing a summary.
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
    """Store one payload durably: it is on disk when this returns. Raises OSError; then nothing was stored.

    `order` determines which payloads are older, by default the time in nanoseconds; the same name and order are one
    payload.
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
    """Everything that must arrive; raw samples are optional."""
    return [entry for entry in entries(folder) if entry.kind != RAW]


def forget_old_raw(folder: str) -> None:
    """Raw samples that the portal did not accept within a day are of no use any more."""
    for entry in entries(folder):
        written_ns = entry.name.split("-")[1]
        if entry.kind == RAW and written_ns.isdecimal() and time.time_ns() - int(written_ns) > RAW_KEPT_NS:
            done(entry)


def done(entry: Entry) -> None:
    """The portal has it, or it was dropped: remove it. Another process may have been faster."""
    try:
        os.unlink(entry.path)
    except FileNotFoundError:
        return


def resend(folder: str) -> int:
    """Move everything that was set aside back to what waits; returns how many payloads."""
    aside = os.path.join(folder, SET_ASIDE)
    names = [name for name in _listed(aside) if name.endswith(".json")]
    for name in names:
        os.rename(os.path.join(aside, name), os.path.join(folder, name))
        done(Entry(aside, f"{name}.reason"))
    return len(names)


def set_aside(folder: str, entry: Entry, reason: str) -> None:
    """Move what the portal will never accept out of the way, with its answer; if there are many, the oldest are
    deleted."""
    aside = os.path.join(folder, SET_ASIDE)
    statefile.private_folder(aside)
    os.rename(entry.path, os.path.join(aside, entry.name))
    statefile.write_bytes(os.path.join(aside, f"{entry.name}.reason"), reason.encode()[:2000], is_durable=False)
    for name in sorted(_listed(aside))[:-SET_ASIDE_FILES_MAX]:
        done(Entry(aside, name))


def make_room(folder: str, max_bytes: float) -> int:
    """Drop the oldest entries of the least important kind until the rest fits; returns how many."""
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
    """Bytes on disk; zero for an entry that was sent or dropped since."""
    try:
        return os.stat(entry.path).st_size
    except FileNotFoundError:
        return 0


def _listed(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []
