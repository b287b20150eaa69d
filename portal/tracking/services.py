"""Storing calls of scripts together, and one by one for servers that run the portal as plain WSGI."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from django.db import DataError, IntegrityError, transaction

from jobs.experiments.rules import NotAccepted
from jobs.experiments.services.points import LoggedCall, log_calls
from portal.ingest.services import limit_statements

log = logging.getLogger(__name__)
CANNOT = NotAccepted([("", "cannot be stored")])


def store_calls(calls: Sequence[LoggedCall], patience_s: float | None = None) -> list[NotAccepted | None]:
    """Store calls in one transaction; for each why it was not accepted, None where it was.

    Where the database rejects a value, each is tried by itself. Raises OperationalError if the database is
    unreachable, or on PostgreSQL if one statement takes longer than `patience_s`.
    """
    try:
        return _together(calls, patience_s)
    except (DataError, IntegrityError) as error:
        if len(calls) == 1:
            log.error("a call of a script could not be stored: %s", type(error).__name__)
            return [CANNOT]
    return [store_calls([call], patience_s)[0] for call in calls]


def _together(calls: Sequence[LoggedCall], patience_s: float | None) -> list[NotAccepted | None]:
    with transaction.atomic():
        if patience_s is not None:
            limit_statements(patience_s, patience_s)
        return log_calls(calls)
