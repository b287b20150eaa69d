"""What an error of a statement or file shows about this server: its disk is full, its database is read-only, and so on.

Nothing of the error's own text is shown to anyone, because it may contain hosts and paths.
"""

import errno
import logging
import os
import sqlite3
from enum import Enum
from pathlib import Path

from django.conf import settings
from django.db import DatabaseError, InterfaceError, OperationalError, connection

from portal.logs import type_of

SQLITE_RESULTS = 0xFF
"""The primary result code is the low byte of an extended one (sqlite.org/rescode.html, section 2)."""

FREE_BYTES_MIN = 2**20
"""With less space than this a transaction of SQLite and its journal may not fit."""


class Trouble(Enum):
    """One reason why this server cannot work now: a short status, and a sentence for people."""

    UNREACHABLE = ("database unreachable", "The database cannot be reached at the moment.")
    BUSY = ("database busy", "The database is too busy at the moment.")
    READ_ONLY = ("database read-only", "The database is read-only at the moment: nothing can be stored.")
    DISK_FULL = ("disk full", "The disk is full: nothing can be stored at the moment.")
    FILES_READ_ONLY = (
        "data directory read-only",
        "The data directory is read-only at the moment: nothing can be stored.",
    )

    @property
    def status(self) -> str:
        return self.value[0]

    @property
    def sentence(self) -> str:
        return self.value[1]

    def postpones(self, work: str) -> str:
        """The line that every worker logs for a step that it cannot run now."""
        return f"{self.status}: {work} waits until it is due again"


# PostgreSQL 15, appendix A; a server that is starting or stopping (57P0x) counts as unreachable.
OF_SQLSTATE = {
    "25006": Trouble.READ_ONLY,
    "53100": Trouble.DISK_FULL,
    **dict.fromkeys(("53200", "53300", "53400", "55P03", "57014", "40P01"), Trouble.BUSY),
}
OF_SQLITE = {
    sqlite3.SQLITE_READONLY: Trouble.READ_ONLY,
    sqlite3.SQLITE_FULL: Trouble.DISK_FULL,
    sqlite3.SQLITE_BUSY: Trouble.BUSY,
    sqlite3.SQLITE_LOCKED: Trouble.BUSY,
}
OF_ERRNO = {
    errno.ENOSPC: Trouble.DISK_FULL,
    errno.EDQUOT: Trouble.DISK_FULL,
    errno.EROFS: Trouble.FILES_READ_ONLY,
}


def trouble(error: BaseException | None) -> Trouble | None:
    """What the error, or one that it was raised from, shows about this server; None for an error of another kind."""
    while error is not None:
        if isinstance(error, OSError) and error.errno in OF_ERRNO:
            return OF_ERRNO[error.errno]
        if isinstance(error, DatabaseError | InterfaceError) and (found := _of_database(error)):
            return found
        error = error.__cause__
    return None


def logged_trouble(error: BaseException, log: logging.Logger) -> Trouble | None:
    """The same, stated in a log."""
    found = trouble(error)
    if found is not None:
        log.error("%s: %s", found.status, type_of(error))
    return found


def present_trouble() -> Trouble | None:
    """What prevents the database from storing anything at the moment; None while it can. Nothing is written."""
    try:
        with connection.cursor() as cursor:
            if connection.vendor == "postgresql":
                cursor.execute("SHOW transaction_read_only")
                return Trouble.READ_ONLY if cursor.fetchone() == ("on",) else None
            cursor.execute("SELECT 1 FROM sqlite_schema")
    except (DatabaseError, InterfaceError) as error:
        return trouble(error) or Trouble.UNREACHABLE
    return _of_files()


def _of_database(error: BaseException) -> Trouble | None:
    code = getattr(error.__cause__, "sqlstate", None)
    if code in OF_SQLSTATE:
        return OF_SQLSTATE[code]
    result = getattr(error.__cause__, "sqlite_errorcode", 0) & SQLITE_RESULTS
    if result in OF_SQLITE:
        return OF_SQLITE[result]
    if not isinstance(error, OperationalError | InterfaceError):
        return None
    # SQLite reports a journal that it cannot create or extend as an error of opening or reading.
    of_files = _of_files() if result in (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR) else None
    return of_files or Trouble.UNREACHABLE


def _of_files() -> Trouble | None:
    """What the file system of SQLite's file reports; nothing for a database in memory or on another host."""
    path = Path(settings.DATABASES["default"]["NAME"])
    if not path.is_absolute() or not path.parent.is_dir():
        return None
    system = os.statvfs(path.parent)
    if system.f_bavail * system.f_frsize < FREE_BYTES_MIN:
        return Trouble.DISK_FULL
    is_writable = os.access(path.parent, os.W_OK) and (not path.exists() or os.access(path, os.W_OK))
    return None if is_writable else Trouble.READ_ONLY
