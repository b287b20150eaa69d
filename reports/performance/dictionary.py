"""The data dictionary of the rows: for people, for programs, and for the metadata of a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from reports.performance.rows import COLUMNS, SCHEMA, SOURCES


def dictionary() -> dict[str, Any]:
    """Every column with its type, unit and source, as a JSON object."""
    return {
        "schema": SCHEMA,
        "sources": dict(SOURCES),
        "columns": [
            {
                **{"name": column.name, "type": column.type, "unit": column.unit or None},
                **{"may_be_null": column.is_nullable, "source": column.source, "description": column.description},
            }
            for column in COLUMNS
        ],
    }


def dictionary_text() -> str:
    """The same as Markdown."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield f"`{SCHEMA}`: one row a run. Times are UTC. GB is 2^30 bytes. What is not known or not measured is null,"
    yield "never 0 and never an empty text."
    yield ""
    yield from ("| column | type | unit | source | meaning |", "|---|---|---|---|---|")
    for column in COLUMNS:
        cells = (f"`{column.name}`", column.type, column.unit, column.source, column.description)
        yield f"| {' | '.join(cells)} |"
    yield ""
    yield from (f"- {source}: {meaning}." for source, meaning in SOURCES.items())
