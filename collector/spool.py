"""Payloads on disk until the portal has acknowledged them: complete files, oldest first, never more than allowed.

A file is `<kind>-<nanoseconds>-<name>.json`; a payload that cannot be sent as it is is moved to `set-aside/`, with the
reason, and never blocks the others.
"""

from __future__ import annotations

import errno
import os
import time

from collector import statefile
from collector.statefile import listed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

SUMMARY, RECORD, RAW, INTERIM = "summary", "record", "raw", "interim"
SENT_FIRST = (SUMMARY, RECORD, RAW, INTERIM)
# When the disk allowance is used up: a later summary repeats an interim one, raw samples are optional, accounting can
# replace a record, nothing a summary.
GIVEN_UP_FIRST = (INTERIM, RAW, RECORD, SUMMARY)
KEPT_NS = {RAW: 86_400 * 10**9, INTERIM: 2 * 3600 * 10**9}
"""How long what need not arrive is kept: raw samples are not wanted later, and an interim summary is no longer true."""

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
    statefile.write_bytes(_path(folder, kind, name, order), content, is_durable=True)


def put_interim(folder: str, name: str, content: bytes, max_bytes: float) -> None:
    """Store an interim summary in place of that of the same name, without waiting for the disk. Raises OSError.

    It pushes out nothing else: where there is no room beside the other kinds it is not stored.
    """
    statefile.private_folder(folder)
    before = _interim(folder, name)
    if sum(_size(entry) for entry in entries(folder) if entry.kind != INTERIM) + len(content) > max_bytes:
        raise OSError(errno.ENOSPC, "no room for an interim summary")
    make_room(folder, max_bytes - len(content))
    statefile.write_bytes(_path(folder, INTERIM, name), content, is_durable=False)
    for entry in before:
        done(entry)


def drop_interim(folder: str, name: str) -> None:
    """Drop the interim summaries of this name: a final one has taken their place. Never raises."""
    try:
        for entry in _interim(folder, name):
            done(entry)
    except OSError:
        return


def _interim(folder: str, name: str) -> list[Entry]:
    """All of one name; more than one only where a sender was killed."""
    return [
        Entry(folder, found)
        for found in listed(folder)
        if found.startswith(f"{INTERIM}-") and found.split("-", 2)[2:] == [f"{name}.json"]
    ]


def _path(folder: str, kind: str, name: str, order: int = 0) -> str:
    return os.path.join(folder, f"{kind}-{order or time.time_ns():020d}-{name}.json")


def entries(folder: str) -> Iterator[Entry]:
    """Everything that waits: summaries first and what need not arrive last, of each kind the oldest first."""
    found = [Entry(folder, name) for name in listed(folder) if name.endswith(".json")]
    rank = {kind: place for place, kind in enumerate(SENT_FIRST)}
    yield from sorted(found, key=lambda entry: (rank.get(entry.kind, len(rank)), entry.name))


def due(folder: str) -> list[Entry]:
    """Everything that must arrive: neither raw samples nor interim summaries."""
    return [entry for entry in entries(folder) if entry.kind not in KEPT_NS]


def interims(folder: str) -> list[Entry]:
    """The interim summaries that wait."""
    return [entry for entry in entries(folder) if entry.kind == INTERIM]


def forget_old(folder: str) -> None:
    """Drop what need not arrive and was not accepted in time."""
    for entry in entries(folder):
        written_ns = entry.name.split("-")[1]
        if entry.kind in KEPT_NS and written_ns.isdecimal() and _is_old(entry.kind, time.time_ns() - int(written_ns)):
            done(entry)


def _is_old(kind: str, age_ns: int) -> bool:
    """A clock that was set back dates an interim summary later than now, for as long as that was."""
    return age_ns > KEPT_NS[kind] or (kind == INTERIM and age_ns < 0)


def done(entry: Entry) -> None:
    """The portal has it, or it was dropped: remove it. Another process may have been faster."""
    try:
        os.unlink(entry.path)
    except FileNotFoundError:
        return


def resend(folder: str) -> int:
    """Move everything that was set aside back to what waits; returns how many payloads."""
    aside = os.path.join(folder, SET_ASIDE)
    names = [name for name in listed(aside) if name.endswith(".json")]
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
    for name in listed(aside)[:-SET_ASIDE_FILES_MAX]:
        done(Entry(aside, name))


def make_room(folder: str, max_bytes: float) -> None:
    """Drop the oldest entries of the least important kind until the rest fits."""
    sizes = {entry: _size(entry) for entry in entries(folder)}
    total = sum(sizes.values())
    for kind in GIVEN_UP_FIRST:
        for entry in [entry for entry in sizes if entry.kind == kind]:
            if total <= max_bytes:
                return
            done(entry)
            total -= sizes[entry]


def _size(entry: Entry) -> int:
    """Bytes on disk; zero for an entry that was sent or dropped since."""
    try:
        return os.stat(entry.path).st_size
    except FileNotFoundError:
        return 0
