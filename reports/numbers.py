"""Numbers as people read them, with their unit; None is "not measured"."""

import re
from datetime import UTC, datetime, tzinfo
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Context

from wire.numbers import NO_BREAK, NOT_MEASURED, UNITS, duration

BEFORE_UNIT = re.compile(rf"(?<=\d) (?=(?:{'|'.join(UNITS)})(?!\w))|(?<=[<>]) (?=\d)")
JOULES_PER_KWH = 3_600_000


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


def used_hours(billed: float, unused: float, unmeasured: float = 0.0) -> float:
    """GPU-hours in which the GPUs had work: the unrounded bill without what was not used, or not measured, of it.

    >>> round(used_hours(63.8767, 49.9490), 4), round(used_hours(32.0, 6.4, 24.0), 4)
    (13.9277, 1.6)
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


def measured_on(coverage_fraction: float, measured_nodes: int | None, nodes: int | None) -> str:
    """The measured part of a run: its nodes where some are missing, else its time.

    >>> measured_on(0.25, 1, 4), measured_on(0.5, 1, 1), measured_on(0.25, None, None)
    ('1 of 4 nodes', '50 % of the GPU time', '25 % of the GPU time')
    """
    if measured_nodes is not None and nodes is not None and 0 < measured_nodes < nodes:
        return f"{measured_nodes:,} of {nodes:,} nodes"
    return f"{share(coverage_fraction)} of the GPU time"


def unmeasured_hours(gpu_hours: float, coverage_fraction: float, *, is_partial: bool) -> float:
    """Billed GPU-hours that nothing is known of: none where nearly all of a run was measured.

    >>> unmeasured_hours(32.0, 0.25, is_partial=True), unmeasured_hours(32.0, 0.9, is_partial=False)
    (24.0, 0.0)
    """
    return gpu_hours * (1 - coverage_fraction) if is_partial else 0.0
