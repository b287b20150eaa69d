"""Which numbers are possible: an impossible one is dropped and named, and the others are kept."""

from collections.abc import Callable
from datetime import UTC
from operator import attrgetter
from typing import Any, NamedTuple, get_args

import msgspec
from msgspec import Meta

from wire.times import YEARS


class Bounds(NamedTuple):
    """Lowest and highest value of each optional number of a struct, and what reads them all from one."""

    limits: tuple[tuple[str, float, float], ...]
    read: Callable[[Any], tuple[float | None, ...]]


PREFIX = "not possible: "
PRINTED_MAX = 1e300
"""Larger numbers have hundreds of digits and may have no value as a float, and neither has NaN."""


def in_utc(struct: Any, *names: str) -> None:
    """Write these instants of `struct` in UTC: PostgreSQL takes no offset of 16 hours and more, Python does.

    Only for `__post_init__`; an instant near the ends of the calendar stays, for `wire.times.impossible_times`.
    """
    for name in names:
        at = getattr(struct, name)
        if at is not None and at.tzinfo is not UTC and at.year in YEARS:
            msgspec.structs.force_setattr(struct, name, at.astimezone(UTC))


def within(low: float, high: float) -> Meta:
    """The documented bounds of a field; `bounds_of` reads them, because decoding must not refuse the record."""
    return Meta(extra_json_schema={"minimum": low, "maximum": high})


def bounds_of(struct: type[msgspec.Struct]) -> Bounds:
    """Those of the fields of `struct` that `within` marks: at least two."""
    limits = tuple(
        (field.name, meta.extra_json_schema["minimum"], meta.extra_json_schema["maximum"])
        for field in msgspec.structs.fields(struct)
        for part in get_args(field.type)
        for meta in get_args(part)
        if isinstance(meta, Meta) and meta.extra_json_schema and "minimum" in meta.extra_json_schema
    )
    return Bounds(limits, attrgetter(*(name for name, _, _ in limits)))


def drop(struct: Any, reasons: dict[str, str]) -> None:
    """Set these fields of `struct` to None, and add the reasons to its `missing`.

    Only for `__post_init__`, before the struct is used elsewhere.
    """
    if not reasons:
        return
    for name in reasons.keys() & set(struct.__struct_fields__):
        msgspec.structs.force_setattr(struct, name, None)
    named = {name: PREFIX + reason for name, reason in reasons.items()}
    msgspec.structs.force_setattr(struct, "missing", struct.missing | named)


def beyond(struct: Any, bounds: Bounds) -> dict[str, str]:
    """Why numbers of `struct` are outside their bounds, by field."""
    return {
        name: _beyond(value, low, high)
        for (name, low, high), value in zip(bounds.limits, bounds.read(struct), strict=True)
        if value is not None and not low <= value <= high
    }


def number(value: float) -> str:
    """A number in a sentence.

    >>> number(250.0), number(100.0000001), number(10**400)
    ('250', '100.0000001', 'a number beyond all limits')
    """
    return f"{value:.12g}" if abs(value) < PRINTED_MAX else "a number beyond all limits"


def _beyond(value: float, low: float, high: float) -> str:
    if value < low:
        return f"{number(value)} is below {number(low)}"
    return f"{number(value)} is above {number(high)}" if value > high else "it is not a number"
