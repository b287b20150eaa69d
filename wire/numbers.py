"""Numbers as people read them, with their unit, in reports and in the terminal; None is "not measured"."""

from __future__ import annotations

from wire.classes import BOUNDS_PERCENT

NOT_MEASURED = "not measured"
UNITS = ("%", "GB", "kWh", "GPU-hours", "GPU-hour", "d", "h", "min", "s")
"""Between a number and one of these no line ends."""

NO_BREAK = "\u00a0"
DIGITS_MAX = 12


def percent(value: float | None) -> str:
    """A busy percent with one decimal, or as many as keep it on its side of a class boundary.

    >>> percent(21.34), percent(14.96), percent(14.9996), percent(None)
    ('21.3 %', '14.96 %', '14.9996 %', 'not measured')
    """
    if value is None:
        return NOT_MEASURED
    for digits in range(1, DIGITS_MAX):
        shown = f"{value:.{digits}f}"
        if all((float(shown) >= boundary) == (value >= boundary) for boundary in BOUNDS_PERCENT):
            return f"{shown} %"
    return f"{value!r} %"


def gigabytes(value_gb: float | None) -> str:
    """2^30 bytes, one decimal.

    >>> gigabytes(14.24)
    '14.2 GB'
    """
    return NOT_MEASURED if value_gb is None else f"{value_gb:.1f} GB"


def hours(value: float | None) -> str:
    """Billed GPU-hours as a bare number: two decimals below ten, one above.

    >>> hours(6.24), hours(384.0), hours(None)
    ('6.24', '384.0', 'price not known')
    """
    if value is None:
        return "price not known"
    return f"{value:.2f}" if abs(value) < 10 else f"{value:,.1f}"


def duration(seconds: float | None) -> str:
    """Seconds in the two largest units.

    >>> duration(45), duration(7500), duration(200_000)
    ('45 s', '2 h 05 min', '2 d 07 h')
    """
    if seconds is None:
        return "unknown"
    minutes, left_s = divmod(round(seconds), 60)
    whole_hours, left_min = divmod(minutes, 60)
    days, left_h = divmod(whole_hours, 24)
    if days:
        return f"{days:,} d {left_h:02d} h"
    if whole_hours:
        return f"{whole_hours} h {left_min:02d} min"
    return f"{minutes} min {left_s:02d} s" if minutes else f"{left_s} s"


def counted(count: float, noun: str) -> str:
    """A count with its noun; a fraction keeps its decimals.

    >>> counted(1, "GPU"), counted(2, "GPU"), counted(1.5, "GPU")
    ('1 GPU', '2 GPUs', '1.5 GPUs')
    """
    number = f"{count:,.0f}" if count == round(count) else f"{count:,.4g}"
    return f"{number} {noun}" if count == 1 else f"{number} {noun}s"
