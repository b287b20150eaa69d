"""The policy export and the list of flags as JSON, part by part, and the export as a table; the rows in their order."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from analysis.anonymous.lines import DIALECT
from analysis.policy.figures import SCHEMA, SHARES, PolicyExport, PolicyLine, Shares
from analysis.policy.raised import FLAGS_SCHEMA, FlagList
from reports.performance.tables import batches

LINES_TOGETHER = 500
NESTED = dict.fromkeys(SHARES, tuple(Shares.__struct_fields__))
COLUMNS = (
    "schema",
    *(
        column
        for name in PolicyLine.__struct_fields__
        for column in ([f"{name}_{part}" for part in NESTED[name]] if name in NESTED else [name])
    ),
)
"""The columns of the table: `schema`, then the members of a row, with one column for each class."""


def json_parts(head: Mapping[str, Any], lines: Iterable[Any]) -> Iterator[bytes]:
    """One JSON object: the members of `head`, then `rows`; only some lines are in memory at a time.

    >>> b"".join(json_parts({"schema": "x/1"}, [{"a": 1}, {"a": 2}]))
    b'{"schema":"x/1","rows":[{"a":1},{"a":2}]}'
    """
    encode = msgspec.json.Encoder().encode
    yield encode(head)[:-1] + b',"rows":['
    before = b""
    for some in batches(lines, LINES_TOGETHER):
        yield before + b",".join(map(encode, some))
        before = b","
    yield b"]}"


def table(lines: Iterable[Mapping[str, Any]]) -> Iterator[Iterable[object]]:
    """The names of the columns, then the cells of each line; null is an empty cell, a list is joined by spaces."""
    yield COLUMNS
    for line in lines:
        yield [SCHEMA, *_cells(line)]


def _cells(line: Mapping[str, Any]) -> Iterator[object]:
    for name, value in line.items():
        if name in NESTED:
            yield from (None if value is None else value[part] for part in NESTED[name])
        elif isinstance(value, bool):
            yield str(value).lower()
        else:
            yield " ".join(value) if isinstance(value, list) else value


def json_schema(kind: type[PolicyExport] | type[FlagList]) -> dict[str, Any]:
    """The JSON Schema of an answer."""
    made = msgspec.json.schema(kind)
    name = {PolicyExport: SCHEMA, FlagList: FLAGS_SCHEMA}[kind]
    members = made["$defs"][kind.__name__]["properties"]
    members["schema"] = {"type": "string", "const": name}
    for described in made["$defs"].values():
        described["required"] = list(described["properties"])
    return {"$schema": DIALECT, "$id": f"urn:kaiku:{name.replace('/', ':')}", **made}
