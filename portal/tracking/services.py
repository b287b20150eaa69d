"""Storing calls of scripts together, and one by one for servers that run the portal as plain WSGI."""

import logging
from collections.abc import Sequence

from django.db import DataError, IntegrityError, OperationalError, transaction

from jobs.experiments.rules import NotAccepted
from jobs.experiments.services.points import LoggedCall, log_calls
from portal.ingest.services import is_in_the_way, limit_statements

TOGETHER_SHARE, ALONE_SHARE = 0.1, 0.5
"""The share of its time limit that a transaction waits for the row of a run: many calls, and one that waited before."""

CANNOT = NotAccepted([("", "cannot be stored")])
Outcome = NotAccepted | OperationalError | None
"""Why a call was not accepted, or has to be sent again; None for one that is stored."""

log = logging.getLogger(__name__)


def store_calls(calls: Sequence[LoggedCall], patience_s: float | None = None) -> list[Outcome]:
    """Store calls in one transaction; the outcome of each.

    Where the database rejects a value, or somebody else holds the row of a run, each is tried by itself. Raises
    OperationalError if the database is unreachable, or on PostgreSQL if a statement takes longer than `patience_s`.
    """
    try:
        return _together(calls, patience_s)
    except (DataError, IntegrityError) as error:
        if len(calls) == 1:
            log.error("a call of a script could not be stored: %s", type(error).__name__)
            return [CANNOT]
    except OperationalError as error:
        if not is_in_the_way(error):
            raise
        if len(calls) == 1:
            return [error]
    return [store_calls([call], patience_s)[0] for call in calls]


def _together(calls: Sequence[LoggedCall], patience_s: float | None) -> list[Outcome]:
    with transaction.atomic():
        if patience_s is not None:
            limit_statements(patience_s, patience_s * (ALONE_SHARE if len(calls) == 1 else TOGETHER_SHARE))
        return list(log_calls(calls))
