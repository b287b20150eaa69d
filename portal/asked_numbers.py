"""Numbers that an address asks for."""

from math import isfinite


def finite_number(text: str) -> float | None:
    """The number that is written; None for what is none, and for one without an end."""
    try:
        found = float(text)
    except ValueError:
        return None
    return found if isfinite(found) else None
