"""Which numbers can be true: one that cannot is dropped and named, and costs nothing beside itself."""

from __future__ import annotations

from typing import Any, get_args

import msgspec
from msgspec import Meta

Bounds = dict[str, tuple[float, float]]

PREFIX = "not possible: "
PRINTED_MAX = 1e300
"""Larger numbers have hundreds of digits and may have no value as a float; so has NaN none."""


def within(low: float, high: float) -> Meta:
    """What a field documents of its numbers; `bounds_of` reads it back, for decoding must not refuse the record."""
    return Meta(extra_json_schema={"minimum": low, "maximum": high})


def bounds_of(struct: type[msgspec.Struct]) -> Bounds:
    """Lowest and highest value of each optional field of `struct` that `within` marks."""
    return {
        field.name: (meta.extra_json_schema["minimum"], meta.extra_json_schema["maximum"])
        for field in msgspec.structs.fields(struct)
        for part in get_args(field.type)
        for meta in get_args(part)
        if isinstance(meta, Meta) and meta.extra_json_schema and "minimum" in meta.extra_json_schema
    }


def drop(struct: Any, reasons: dict[str, str]) -> None:
    """Set these fields of `struct` to None, and add the reasons to its `missing`.

    Only for `__post_init__`, while nobody else has seen the struct.
    """
    if not reasons:
        return
    for name in reasons.keys() & set(struct.__struct_fields__):
        msgspec.structs.force_setattr(struct, name, None)
    named = {name: PREFIX + reason for name, reason in reasons.items()}
    msgspec.structs.force_setattr(struct, "missing", struct.missing | named)


def beyond(struct: Any, bounds: Bounds) -> dict[str, str]:
    """Why the numbers of `struct` outside their bounds cannot be true, by field."""
    return {
        name: _beyond(value, low, high)
        for name, (low, high) in bounds.items()
        if (value := getattr(struct, name)) is not None and not low <= value <= high
    }


def number(value: float) -> str:
    """A number in a sentence.

    >>> number(250.0), number(100.0000001), number(10**400)
    ('250', '100.0000001', 'a number beyond all bounds')
    """
    return f"{value:.12g}" if abs(value) < PRINTED_MAX else "a number beyond all bounds"


def _beyond(value: float, low: float, high: float) -> str:
    if value < low:
        return f"{number(value)} is below {number(low)}"
    return f"{number(value)} is above {number(high)}" if value > high else "it is no number"
