"""Every wrong field of a rejected record, with its path; msgspec itself stops at the first one."""

import math
import re
from collections.abc import Iterator
from functools import cache
from itertools import islice
from typing import Any, get_args

import msgspec

PROBLEMS_MAX = 50
"""For one record; a sender with more wrong fields fixes these first."""

LOCATED = re.compile(r"(?P<message>.*?)(?: - at (?:`key` in )?`\$(?P<path>[^`]*)`)?\Z", re.DOTALL)

Problem = tuple[str, str]


def explain(value: object, kind: type[msgspec.Struct]) -> list[Problem]:
    """`(path, message)` of each wrong field, paths such as `gpus[0].avg_util`; empty when all of them fit."""
    return list(islice(_object_problems(value, kind, ""), PROBLEMS_MAX))


def non_finite(value: object, path: str = "") -> Iterator[Problem]:
    """The places of a NaN or an infinity in a document."""
    if isinstance(value, float) and not math.isfinite(value):
        yield path, f"{value} is not a number of JSON"
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from non_finite(item, _joined(path, str(name)))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from non_finite(item, f"{path}[{index}]")


def _object_problems(value: object, kind: type[msgspec.Struct], path: str) -> Iterator[Problem]:
    if not isinstance(value, dict):
        yield path, "Expected an object"
        return
    for field in _fields(kind):
        where = _joined(path, field.encode_name)
        if field.encode_name in value:
            yield from _field_problems(value[field.encode_name], field.type, where)
        elif field.required:
            yield where, "required"


def _field_problems(value: object, kind: Any, path: str) -> Iterator[Problem]:
    inside = list(islice(_nested_problems(value, _struct_in(kind), path), PROBLEMS_MAX))
    yield from inside
    try:
        # Valid parts may still be too many, or a list instead of one value.
        if not inside:
            msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as error:
        yield first_problem(error, path)


def first_problem(error: Exception, path: str = "") -> Problem:
    """msgspec's own message for a value at this path."""
    located = LOCATED.match(str(error))
    if located is None:
        return path, str(error)
    return (path + (located["path"] or "")).removeprefix("."), located["message"]


def _nested_problems(value: object, nested: type[msgspec.Struct] | None, path: str) -> Iterator[Problem]:
    if nested and isinstance(value, dict):
        yield from _object_problems(value, nested, path)
    elif nested and isinstance(value, list):
        for index, item in enumerate(value):
            yield from _object_problems(item, nested, f"{path}[{index}]")


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[Any, ...]:
    """Created by msgspec once, because it would build them again each time."""
    return msgspec.structs.fields(kind)


def _struct_in(kind: Any) -> type[msgspec.Struct] | None:
    """The struct that a field type such as `Annotated[tuple[GpuPayload, ...], …]` or `CpuPayload | None` is made of."""
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return kind
    return next((found for part in get_args(kind) if (found := _struct_in(part))), None)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name
