"""Background work, piece by piece: failures are recorded, tried again later and set aside after some tries; the others
continue.

A piece is claimed before it is tried, by exactly one worker, so that the end of a process counts as a failure of its
pieces too. Pieces that never failed are claimed in batches; those of a process that ended are tried one by one.
"""

import logging
import os
import sqlite3
import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection, transaction
from django.db.models import F, QuerySet, Value
from django.db.models.functions import Coalesce

from jobs.audit.services import Action, Actor, Kind, by_command, record_change
from jobs.models import WorkFailure
from jobs.processes.names import is_known_to_be_gone, this_process
from jobs.work_queue.selectors import TRIES_MAX, due_again, failures, held_back

TOGETHER, SHARE = 20, 4
"""A worker takes this many pieces at a time, and a quarter where few wait, so that other workers get the rest."""

ROUND_S = 180
"""After this time a round starts no more pieces: reaching the soft time limit of the task would count as a failure."""

LEASE = timedelta(minutes=10)
"""Longer than a round with its last pieces takes: after it a claim is void."""

BACK_OFF = 5
"""The ratio of each pause to the one before: with the default 1, 5, 25 and 125 minutes."""

BY_HAND = by_command("analyse_job")
"""The actor in the audit log where a person requested a try."""

ENDED = "the process ended"
NAMELESS = ("error", "exception")
"""Names of types that need their module to be understood."""

STORES_NOTHING = ("25006", "53100")
"""Read-only and a full disk (PostgreSQL 15, appendix A)."""

STORES_NOTHING_SQLITE = (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_FULL)
HERE = str(Path(__file__).resolve().parents[2])

# Only free pieces are claimed: no row yet, or one that failed and may be tried again. Both databases check and claim
# in this one statement, so no two workers get the same piece.
CLAIM = (
    "INSERT INTO jobs_workfailure (kind, key, owner, claimed_until, tries, error) VALUES {rows}"
    " ON CONFLICT (kind, key) DO UPDATE SET owner = excluded.owner, claimed_until = excluded.claimed_until"
    " WHERE jobs_workfailure.claimed_until IS NULL AND jobs_workfailure.set_aside_at IS NULL"
    " AND (jobs_workfailure.next_at IS NULL OR jobs_workfailure.next_at <= %s) RETURNING key"
)

log = logging.getLogger(__name__)
claims = count()
living: set[str] = set()
"""The claims that the threads of this process work on."""


@dataclass(frozen=True)
class Work:
    """A kind of work: `step` does one piece by its key and returns how much it did, False where nothing was to do.

    `still_due` returns those of some keys that are still to be done. A worker without a sign of life for longer than
    `lease` loses its pieces. Work that recurs by itself (`is_recurring`) is never set aside. No pause before another
    try is longer than `pause_max_s`. `name` is a readable name of a key for the log, without a person's name.
    """

    kind: str
    step: Callable[[int], int]
    still_due: Callable[[list[int]], list[int]] = list
    lease: timedelta = LEASE
    is_recurring: bool = False
    pause_max_s: float = float("inf")
    name: Callable[[int], str] = str


class WorkFailed(Exception):
    """The error of a piece that was done by hand, as it is logged."""


@dataclass(frozen=True)
class Round:
    """The result of a round: how much was done, and whether nothing unclaimed was left."""

    done: int
    is_all: bool


def attempt_each(work: Work, due: Iterable[Sequence[int]], now: datetime, limit: int = sys.maxsize) -> Round:
    """Do the pieces of the lists in `due`, and what failed before and may be tried again, until `limit` was done.

    Other workers may have the same lists: each piece is done by one worker. Failures are recorded and stop nothing.
    Raises DatabaseError and InterfaceError where the database itself is unreachable, full or read-only: that is no
    failure of the work.
    """
    note_ended_processes(work, now)
    began_s, done = time.monotonic(), 0
    for keys in _and_what_failed(work, due, now):
        left = list(keys)
        while left:
            if done >= limit or time.monotonic() - began_s > ROUND_S:
                return Round(done, is_all=False)
            batch, left = _share(work.kind, left, limit - done, now)
            taken = _attempt(work, batch, now)
            done += taken.done
            # Others work on the same list: what they have done since is left out.
            left = left if taken.is_all else work.still_due(left)
    return Round(done, is_all=True)


def attempt(work: Work, key: int, now: datetime) -> int:
    """Do one piece of work now, unless another worker has it or it waits for its next try."""
    return _attempt(work, [key], now).done


def attempt_by_hand(work: Work, key: int, now: datetime) -> int:
    """Do one piece of work now, however often it failed, unless another worker has it.

    Raises WorkFailed where it fails, after recording that.
    """
    raised: list[Exception] = []

    def step(key: int) -> int:
        try:
            return work.step(key)
        except Exception as error:
            raised.append(error)
            raise

    note_ended_processes(work, now)
    with transaction.atomic():
        # Its tries are kept: what was set aside and fails again is set aside at once.
        if failures(work.kind).filter(key=key, claimed_until=None).update(next_at=None, set_aside_at=None):
            record_change(BY_HAND, Action.TRIED_AGAIN, Kind.WORK, f"{work.kind} {_name(work, key)}")
    done = attempt(replace(work, step=step), key, now)
    if raised:
        raise WorkFailed(_failed(work, key, raised[0])) from raised[0]
    return done


def note_ended_processes(work: Work, now: datetime) -> int:
    """Count a failure for all pieces claimed by a process that has ended; how many pieces that were."""
    claimed = WorkFailure.objects.filter(kind=work.kind, claimed_until__isnull=False)
    lost = [(row, row.claimed_until) for row in claimed if _is_lost(row, now)]
    for row, claimed_until in lost:
        # The first time it may have been another piece of the same batch: then there is no pause.
        pause_s = _pause_s(work, row.tries) if row.tries else 0
        # Data that arrived since the claim was never tried, so the failure has the time of the claim.
        at = min(now, claimed_until - work.lease) if claimed_until else now
        next_at = now + timedelta(seconds=pause_s)
        _note(work, WorkFailure.objects.filter(pk=row.pk, owner=row.owner), row.tries, ENDED, at, next_at)
    return len(lost)


def try_again(rows: QuerySet[WorkFailure]) -> int:
    """Reset the tries of this work: it is due at once."""
    return rows.update(tries=1, next_at=None, set_aside_at=None)


def try_named_again(rows: QuerySet[WorkFailure], names: Sequence[str], by: Actor) -> int:
    """The same as requested by a person, with an audit log entry for each; how many pieces that were."""
    with transaction.atomic():
        for name in names:
            record_change(by, Action.TRIED_AGAIN, Kind.WORK, name)
        return try_again(rows)


def open_changed(kind: str, changed_at: Mapping[int, datetime], now: datetime) -> int:
    """Have what failed tried at once where its data changed after the last try; how many pieces that were.

    `changed_at` is when the data of some pieces last changed.
    """
    waiting = failures(kind).filter(key__in=changed_at, claimed_until=None).exclude(next_at=None, set_aside_at=None)
    rows = waiting.values_list("pk", "key", "last_at", "set_aside_at")
    newer = [
        pk for pk, key, last_at, aside_at in rows if last_at and _is_newer(changed_at[key], last_at, aside_at, now)
    ]
    return try_again(waiting.filter(pk__in=newer)) if newer else 0


def _is_newer(changed_at: datetime, last_at: datetime, set_aside_at: datetime | None, now: datetime) -> bool:
    """Whether the current data changed after the last try.

    A change may have an earlier time: clocks differ a little, and it is committed after that time. Waiting work is
    tried again anyway; work that was set aside had its first try longer before its last than this tolerance.
    """
    late_s = settings.RETRY_SECONDS if set_aside_at else 0
    return last_at - timedelta(seconds=late_s) < changed_at <= now


def is_of_the_database(error: Exception) -> bool:
    """Whether an error means that the database is unreachable, full or read-only: that is no failure of the work."""
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    return stores_nothing(error) or (isinstance(error, OperationalError | InterfaceError) and not _is_database_there())


def stores_nothing(error: Exception) -> bool:
    """Whether an error means that the database is full or read-only: it can still be read."""
    if not isinstance(error, DatabaseError):
        return False
    state = getattr(error.__cause__, "sqlstate", None)
    result = getattr(error.__cause__, "sqlite_errorcode", 0) & 0xFF  # without what an extended code adds
    return state in STORES_NOTHING or result in STORES_NOTHING_SQLITE


def _is_database_there() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def _and_what_failed(work: Work, due: Iterable[Sequence[int]], now: datetime) -> Iterator[Sequence[int]]:
    """`due`, then failed work whose pause is over; what is no longer to be done is removed."""
    yield from due
    again = due_again(work.kind, now)
    if again:
        wanted = work.still_due(again)
        needless = WorkFailure.objects.filter(kind=work.kind, key__in=set(again) - set(wanted))
        needless.filter(claimed_until=None, set_aside_at=None).delete()
        yield wanted


def _share(kind: str, keys: list[int], limit: int, now: datetime) -> tuple[list[int], list[int]]:
    """Which of these keys to claim now, and which remain; neither includes claimed or waiting ones."""
    is_held = held_back(kind, keys, now)
    fresh = [key for key in keys if key not in is_held]
    troubled = [key for key in keys if is_held.get(key) is False]
    if not fresh:
        return troubled[:1], troubled[1:]
    taken = min(TOGETHER, limit, -(-len(fresh) // SHARE))
    return fresh[:taken], [*fresh[taken:], *troubled]


def _attempt(work: Work, keys: list[int], now: datetime) -> Round:
    """Do those of these that no other worker has or has done; whether that was all of them."""
    owner = f"{this_process()} {next(claims)}"
    living.add(owner)
    try:
        mine = _claimed(work, keys, owner, now)
        # Only now is it certain that nobody else does them.
        wanted = work.still_due(mine) if mine else []
        return Round(_do(work, mine, wanted, owner, now), is_all=len(wanted) == len(keys))
    finally:
        # What was not done because the database became unreachable is free again from now on.
        living.discard(owner)


def _claimed(work: Work, keys: list[int], owner: str, now: datetime) -> list[int]:
    """Claim these; returns those that this worker got."""
    if not keys:
        return []
    moment, until = (connection.ops.adapt_datetimefield_value(at) for at in (now, now + work.lease))
    # In one order, or two workers could wait for each other.
    rows = [value for key in sorted(keys) for value in (work.kind, key, owner, until)]
    with connection.cursor() as cursor:
        cursor.execute(CLAIM.format(rows=", ".join(["(%s, %s, %s, %s, 0, '')"] * len(keys))), [*rows, moment])
        mine = {key for (key,) in cursor.fetchall()}
    return [key for key in keys if key in mine]


def _do(work: Work, mine: list[int], wanted: list[int], owner: str, now: datetime) -> int:
    """Do the wanted ones of these claims, and release them; how much was done."""
    claimed = WorkFailure.objects.filter(kind=work.kind, owner=owner)
    done, total = set(mine) - set(wanted), 0
    for key in wanted:
        try:
            total += work.step(key)
            done.add(key)
        except Exception as error:
            if is_of_the_database(error):
                _give_back(claimed)
                raise
            _fail(work, claimed.filter(key=key), key, error, now)
    if done:
        claimed.filter(key__in=done).delete()
    return total


def _give_back(claimed: QuerySet[WorkFailure]) -> None:
    """Release what could not be done now; where that cannot be stored either, it is recorded as lost later."""
    with suppress(DatabaseError, InterfaceError):
        claimed.filter(tries=0).delete()
        claimed.update(owner="", claimed_until=None)


def _fail(work: Work, row: QuerySet[WorkFailure], key: int, error: Exception, now: datetime) -> None:
    log.warning("%s", _failed(work, key, error), exc_info=error)
    tries = row.values_list("tries", flat=True).first()
    if tries is not None:
        _note(work, row, tries, _where(error), now, now + timedelta(seconds=_pause_s(work, tries)))


def _failed(work: Work, key: int, error: Exception) -> str:
    """One line: what failed, the type of the error and where it came from, without its message."""
    return f"{work.kind} {_name(work, key)} failed: {_where(error)}"


def _name(work: Work, key: int) -> str:
    try:
        return work.name(key)
    except Exception:
        # It may fail for the reason that the work did.
        return str(key)


def _where(error: Exception) -> str:
    return f"{_type(error)} at {_place(error)}"


def _type(error: Exception) -> str:
    """The name of its type, with its module where the name alone is not clear, as in `struct.error`."""
    module, name = type(error).__module__, type(error).__qualname__
    return f"{module}.{name}" if name.lower() in NAMELESS else name


def _note(work: Work, row: QuerySet[WorkFailure], tries: int, error: str, at: datetime, next_at: datetime) -> None:
    """One more failure of a piece of work."""
    row.update(
        tries=F("tries") + 1,
        claimed_until=None,
        owner="",
        first_at=Coalesce("first_at", Value(at)),
        last_at=at,
        next_at=next_at,
        set_aside_at=at if tries + 1 >= TRIES_MAX and not work.is_recurring else None,
        error=error[:200],
    )


def _pause_s(work: Work, tries: int) -> float:
    """How long work waits after this many failures."""
    return min(float(settings.RETRY_SECONDS * BACK_OFF ** min(tries, TRIES_MAX - 2)), work.pause_max_s)


def _is_lost(row: WorkFailure, now: datetime) -> bool:
    """Whether a claim is void: its time is over, or its process was on this machine and has ended."""
    is_gone = is_known_to_be_gone(row.owner.rpartition(" ")[0])
    is_dropped = row.owner.startswith(f"{this_process()} ") and row.owner not in living
    return is_gone or is_dropped or (row.claimed_until is not None and row.claimed_until < now)


def _place(error: BaseException) -> str:
    """The last line of our own code that the error passed through."""
    through = traceback.extract_tb(error.__traceback__)
    frames = [frame for frame in through if frame.filename.startswith(HERE) and ".venv" not in frame.filename]
    last = frames[-1] if frames else None
    return f"{os.path.relpath(last.filename, HERE)}:{last.lineno}" if last else "an unknown place"
