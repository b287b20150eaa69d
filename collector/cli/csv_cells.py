"""Values as cells of a CSV file (RFC 4180)."""

from __future__ import annotations

FORMULA = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet would compute; such a text gets an apostrophe before it, as in the portal's own CSV."""


def plain(value: float | None) -> str:
    """A number for programs, to six digits after the point; empty where it is not known.

    >>> plain(2.50), plain(12.0), plain(None)
    ('2.5', '12', '')
    """
    return "" if value is None else f"{value:.6f}".rstrip("0").rstrip(".")


def cell(written: str) -> str:
    """A text as a cell.

    >>> cell("a,b"), cell("=1+1"), cell("plain")
    ('"a,b"', "'=1+1", 'plain')
    """
    if written.startswith(FORMULA):
        written = f"'{written}"
    return '"' + written.replace('"', '""') + '"' if any(char in written for char in ',"\n') else written
