"""Storing what accounting reports: each run by itself, so that one that cannot be stored stops no other."""

from dataclasses import dataclass
from datetime import datetime

from django.db import DataError

from jobs.runs.services import RecordConflict
from jobs.sacct import Accounting, LeftOut
from jobs.services import record_job


@dataclass(frozen=True)
class Stored:
    """How many runs were new or changed, how many were known, and every row without a stored run, by line."""

    new: int
    known: int
    left_out: tuple[LeftOut, ...]


def store_runs(found: Accounting, now: datetime | None = None) -> Stored:
    """Store the runs of a text of accounting."""
    new, left_out = 0, list(found.skipped)
    for line, record in zip(found.lines, found.records, strict=True):
        try:
            new += record_job(record, now)
        except RecordConflict as conflict:
            left_out.append(LeftOut(line, str(record.job_id), str(conflict)))
        except (DataError, ValueError, TypeError, ArithmeticError, LookupError) as error:
            # One row that cannot be stored must not prevent the others from being stored.
            left_out.append(LeftOut(line, str(record.job_id), f"cannot be stored: {type(error).__name__}"))
    stored = len(found.records) - (len(left_out) - len(found.skipped))
    return Stored(new, stored - new, tuple(sorted(left_out, key=lambda row: row.line)))
