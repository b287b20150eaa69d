"""Times of PostgreSQL, read fast; those that Python cannot store as the ends of the calendar, so that one row breaks no
list.

No payload can contain them; a restored or edited table may.
"""

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.postgresql.psycopg_any import BaseTzLoader
from psycopg import DataError

EARLIEST = datetime.min.replace(tzinfo=UTC) + timedelta(days=366)
LATEST = datetime.max.replace(tzinfo=UTC, microsecond=0) - timedelta(days=366)
"""A year from the exact ends, so that a page can still show them in its reader's time zone."""


def read_far_times(sender: Any, connection: BaseDatabaseWrapper, **_: Any) -> None:
    """On a new connection, read times beyond the calendar as its ends; on other databases there are none."""
    if connection.vendor == "postgresql":

        class FarTimeLoader(BaseTzLoader):
            timezone = connection.timezone

            def load(self, data: Any) -> datetime:
                text = bytes(data)
                if text.endswith(b"+00"):
                    with suppress(ValueError):
                        # Many times faster than psycopg's own loader, which lists of thousands of rows notice.
                        at = datetime.fromisoformat(text.decode())
                        return at if self.timezone is UTC else at.replace(tzinfo=self.timezone)
                try:
                    return super().load(data)
                except DataError:
                    return EARLIEST if text.startswith(b"-") or text.endswith(b"BC") else LATEST

        connection.connection.adapters.register_loader("timestamptz", FarTimeLoader)
