"""Node summaries into their table, any number in one statement: of each node the later or higher-ranking one stays."""

from collections.abc import Iterable
from operator import itemgetter
from typing import Any

from django.db import connection
from django.db.models import JSONField

from metrics.models import NodeSummary

KEY = ("cluster", "job_id", "attempt", "node")
SAID = (
    *("sequence", "is_final", "started_at", "ended_at", "interval_s", "collector_version", "errors", "sent_by"),
    *("host_peak_gb", "figures", "series", "changed_at"),
)
FIELDS: list[Any] = [NodeSummary._meta.get_field(name) for name in (*KEY, *SAID)]

COUNTS_FOR_MORE = """
    (kept.sent_by = excluded.sent_by AND CASE WHEN kept.is_final = excluded.is_final
        THEN kept.sequence < excluded.sequence ELSE excluded.is_final AND excluded.sequence > 0 END)
    OR (kept.sent_by <> excluded.sent_by AND kept.sent_by <> '')"""
"""A final summary replaces one that is not, and never vice versa, whatever their sequences: a node that lost its files
during a run numbers its summaries from 1 again. A row of another owner is replaced too: only the owner of a run gets
here, so the run has a new owner."""

AHEAD = "kept.sequence + kept.revision_lead + 1 - excluded.sequence"
CONFLICT = f"""ON CONFLICT ({", ".join(KEY)}) DO UPDATE SET
    {", ".join(f"{name} = excluded.{name}" for name in SAID)},
    revision_lead = CASE WHEN {AHEAD} > 0 THEN {AHEAD} ELSE 0 END
WHERE {COUNTS_FOR_MORE}
RETURNING {", ".join(KEY)}"""
INSERT = f"INSERT INTO {NodeSummary._meta.db_table} AS kept ({', '.join((*KEY, *SAID))}, revision_lead)"

Key = tuple[str, int, int, str]
Row = tuple[Any, ...]
"""One summary: `KEY`, then `SAID`."""


def upsert(rows: Iterable[Row]) -> set[Key]:
    """Store summaries of different nodes, replacing lower-ranking ones; the keys of those that were stored.

    Rows are written in the order of their keys, so that two writers of the same nodes only wait for each other.
    """
    ordered = sorted(rows, key=itemgetter(slice(len(KEY))))
    if not ordered:
        return set()
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            return _all_at_once(cursor, ordered)
        return {key for row in ordered for key in _one(cursor, row)}


def _all_at_once(cursor: Any, rows: list[Row]) -> set[Key]:
    columns = [list(column) for column in zip(*rows, strict=True)]
    for column, field in zip(columns, FIELDS, strict=True):
        if isinstance(field, JSONField):
            column[:] = [field.get_db_prep_save(value, connection) for value in column]
    arrays = ", ".join(f"%s::{field.db_type(connection)}[]" for field in FIELDS)
    cursor.execute(f"{INSERT} SELECT *, 0 FROM unnest({arrays}) {CONFLICT}", columns)  # noqa: S608 (names of the model)
    return set(cursor.fetchall())


def _one(cursor: Any, row: Row) -> Iterable[Key]:
    marks = ", ".join(["%s"] * len(FIELDS))
    values = [field.get_db_prep_save(value, connection) for field, value in zip(FIELDS, row, strict=True)]
    cursor.execute(f"{INSERT} VALUES ({marks}, 0) {CONFLICT}", values)
    found: list[Key] = cursor.fetchall()
    return found
