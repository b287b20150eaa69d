"""Structs from rows that have most of their members under the same names."""

from typing import Any, TypeVar

import msgspec

Made = TypeVar("Made", bound=msgspec.Struct)


def struct_from(kind: type[Made], row: object, /, **members: Any) -> Made:
    """A struct with these members, and with all others as the row has them under the same names."""
    return kind(**{name: getattr(row, name) for name in kind.__struct_fields__ if name not in members}, **members)
