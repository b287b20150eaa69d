"""Numbers as people read them, with their unit; None is "not measured"."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context

from analysis.thresholds import LIMITS

NOT_MEASURED = "not measured"
CLASS_BOUNDARIES_PERCENT = (LIMITS.inefficient_percent, LIMITS.acceptable_percent, LIMITS.efficient_percent)
DIGITS_MAX = 12
NO_BREAK = "\u00a0"
BEFORE_UNIT = re.compile(r"(?<=\d) (?=(?:%|GB|kWh|GPU-hours|d|h|min|s)(?!\w))|(?<=[<>]) (?=\d)")
JOULES_PER_KWH = 3_600_000


def percent(value: float | None) -> str:
    """A busy percent with one decimal, or as many as keep it on its side of a class boundary.

    >>> percent(21.34), percent(14.96), percent(14.9996), percent(None)
    ('21.3 %', '14.96 %', '14.9996 %', 'not measured')
    """
    if value is None:
        return NOT_MEASURED
    for digits in range(1, DIGITS_MAX):
        shown = f"{value:.{digits}f}"
        if all((float(shown) >= boundary) == (value >= boundary) for boundary in CLASS_BOUNDARIES_PERCENT):
            return f"{shown} %"
    return f"{value!r} %"


def share(fraction: float | None) -> str:
    """A fraction as a whole percent; a small share is not shown as 0 %, a share just below 1 not as 100 %.

    >>> share(0.25), share(0.001), share(0.999), share(0.0)
    ('25 %', '< 1 %', '> 99 %', '0 %')
    """
    if fraction is None:
        return NOT_MEASURED
    if 0 < fraction < 0.01:
        return "< 1 %"
    return "> 99 %" if 0.99 < fraction < 1 else f"{fraction * 100:.0f} %"


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
    return f"{value:.2f}" if value < 10 else f"{value:,.1f}"


def used_hours(billed: float, unused: float, unmeasured: float = 0.0) -> float:
    """GPU-hours in which the GPUs had work: the unrounded bill without what was not used, or not measured, of it.

    >>> hours(used_hours(63.8767, 49.9490)), hours(used_hours(32.0, 6.4, 24.0))
    ('13.9', '1.60')
    """
    return max(billed - unused - unmeasured, 0.0)


def rate(per_s: float | None) -> str:
    """What was done a second: three digits, or whole numbers.

    >>> rate(2700.4), rate(12.345), rate(0.01234), rate(None)
    ('2,700', '12.3', '0.0123', 'not measured')
    """
    if per_s is None:
        return NOT_MEASURED
    return f"{per_s:,.0f}" if per_s >= 100 else f"{per_s:.3g}"


def duration(seconds: float | None) -> str:
    """Seconds in the two largest units.

    >>> duration(45), duration(7500), duration(200_000)
    ('45 s', '2 h 05 min', '2 d 07 h')
    """
    if seconds is None:
        return "unknown"
    minutes, left_s = divmod(round(seconds), 60)
    hours, left_min = divmod(minutes, 60)
    days, left_h = divmod(hours, 24)
    if days:
        return f"{days} d {left_h:02d} h"
    if hours:
        return f"{hours} h {left_min:02d} min"
    return f"{minutes} min {left_s:02d} s" if minutes else f"{left_s} s"


def exactly(seconds: float | None) -> str:
    """The same to the minute also from one day on, so that a cost can be worked out by hand.

    >>> exactly(7500), exactly(86_400), exactly(89_100)
    ('2 h 05 min', '1 d 00 h', '1 d 00 h 45 min')
    """
    left_min = 0 if seconds is None else round(seconds) // 60 % 60
    return duration(seconds) + (
        f" {left_min:02d} min" if seconds is not None and seconds >= 86_400 and left_min else ""
    )


def to_the_minute(seconds: float) -> str:
    """The same without seconds, for times that are minutes old when they are shown.

    >>> to_the_minute(25), to_the_minute(1441), to_the_minute(7500)
    ('less than 1 min', '24 min', '2 h 05 min')
    """
    minutes = round(seconds / 60)
    if not minutes:
        return "less than 1 min"
    return f"{minutes} min" if minutes < 60 else duration(60.0 * minutes)


def energy(joules: float | None) -> str:
    """Energy in kWh.

    >>> energy(1_512_000.0)
    '0.42 kWh'
    """
    return NOT_MEASURED if joules is None else f"{joules / JOULES_PER_KWH:.2f} kWh"


def counted(count: float, noun: str) -> str:
    """A count with its noun; a fraction keeps its decimals.

    >>> counted(1, "GPU"), counted(2, "GPU"), counted(1.5, "GPU")
    ('1 GPU', '2 GPUs', '1.5 GPUs')
    """
    number = f"{count:,.0f}" if count == round(count) else f"{count:,.4g}"
    return f"{number} {noun}" if count == 1 else f"{number} {noun}s"


def instant(at: datetime | None, zone: tzinfo = UTC) -> str:
    """An instant to the minute, and its zone.

    >>> instant(datetime(2026, 11, 20, 12, 0, tzinfo=UTC))
    '2026-11-20 12:00 UTC'
    """
    return "unknown" if at is None else f"{at.astimezone(zone):%Y-%m-%d %H:%M %Z}"


def unbroken(text: str) -> str:
    """Text in which no line ends between a number and its unit, or between it and what compares it.

    >>> unbroken("> 67 % of 2 h 05 min on 8 GPUs")
    '>\\xa067\\xa0% of 2\\xa0h 05\\xa0min on 8 GPUs'
    """
    return BEFORE_UNIT.sub(NO_BREAK, text)


def one_digit(hours: float) -> str:
    """Hours to one digit, for who may not read what a single job adds to a sum.

    >>> one_digit(131.3), one_digit(0.44), one_digit(0.0), one_digit(96.0)
    ('100', '0.4', '0', '100')
    """
    return f"{to_one_digit(hours):,.10g}"


def part_of(part: float, whole: float) -> tuple[str, str]:
    """Hours and the hours that they are part of, to one digit each; a part of them never reads as all of them.

    Where both round to the same, the part is rounded down; where that does not help, the whole is "more than" it.

    >>> part_of(243.0, 281.0), part_of(310.0, 330.0), part_of(56.2, 72.0), part_of(72.0, 72.0), part_of(0.0, 0.0)
    (('200', '300'), ('300', 'more than 300'), ('60', '70'), ('70', '70'), ('0', '0'))
    """
    shown = one_digit(part), one_digit(whole)
    if part >= whole or shown[0] != shown[1]:
        return shown
    down = to_one_digit(part, ROUND_DOWN)
    return (f"{down:,.10g}", shown[1] if down < to_one_digit(whole) else f"more than {shown[1]}")


def to_one_digit(hours: float, rounding: str = ROUND_HALF_EVEN) -> float:
    """The same as a number, for an order that reveals no more than what is shown.

    Decimal, as a float rounded down to one digit by arithmetic may lose a digit that it has.

    >>> to_one_digit(0.3, ROUND_DOWN), to_one_digit(96.0, ROUND_DOWN)
    (0.3, 90.0)
    """
    return float(Context(prec=1, rounding=rounding).create_decimal(repr(hours)))
