"""What stops a program of an operator, in one line that names what and where."""

import sqlite3

from django.core.exceptions import ImproperlyConfigured
from django.db import DatabaseError, InterfaceError, OperationalError

UNDEFINED = ("42P01", "42703")  # PostgreSQL 15, appendix A: no such table, no such column
OF_SERVER = ("08", "28", "3D", "53", "57")  # its classes of connections, accounts, databases, resources, operators
OF_SQLITE = ("no such table", "no such column")


def start_error(error: Exception) -> str | None:
    """The line for an error of the settings or of the database; None for an error that only a traceback explains."""
    if isinstance(error, ImproperlyConfigured):
        return f"Not started: {error}"
    if not isinstance(error, DatabaseError | InterfaceError) or not str(error):
        return None
    said = str(error).splitlines()[0]
    state = getattr(error.__cause__, "sqlstate", None) or ""
    if state in UNDEFINED or said.startswith(OF_SQLITE):
        return f"Not done: the database does not fit this version ({said}): run manage.py migrate"
    if state.startswith(OF_SERVER) or (not state and _is_of_server(error)):
        return f"Not done: the database cannot be used: {said}"
    return None


def _is_of_server(error: Exception) -> bool:
    """Whether an error without a state of PostgreSQL is of a connection or a file, and not of a statement."""
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    return getattr(error.__cause__, "sqlite_errorcode", 0) != sqlite3.SQLITE_ERROR
