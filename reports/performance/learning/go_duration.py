"""Durations as Go writes them: ASBA reads them with `time.ParseDuration`."""

from __future__ import annotations

SECOND_NS, MINUTE_S, HOUR_S = 1_000_000_000, 60, 3600
SMALLER = (("ms", 1_000_000), ("µs", 1_000))


def go_duration(seconds: float) -> str:
    """What `time.Duration.String()` returns (Go, package time), to the nanosecond.

    >>> go_duration(7200.0), go_duration(90.5), go_duration(59), go_duration(0.25), go_duration(0)
    ('2h0m0s', '1m30.5s', '59s', '250ms', '0s')
    """
    total_ns = round(seconds * SECOND_NS)
    if 0 < total_ns < SECOND_NS:
        return _below_a_second(total_ns)
    whole_s, rest_ns = divmod(total_ns, SECOND_NS)
    hours, minutes, left_s = whole_s // HOUR_S, whole_s % HOUR_S // MINUTE_S, whole_s % MINUTE_S
    text = f"{left_s}{_fraction(rest_ns, SECOND_NS)}s"
    if hours:
        return f"{hours}h{minutes}m{text}"
    return f"{minutes}m{text}" if minutes else text


def _below_a_second(total_ns: int) -> str:
    for unit, size_ns in SMALLER:
        if total_ns >= size_ns:
            return f"{total_ns // size_ns}{_fraction(total_ns % size_ns, size_ns)}{unit}"
    return f"{total_ns}ns"


def _fraction(rest: int, whole: int) -> str:
    """The digits after the point, without zeros at the end; empty for none."""
    digits = f"{rest:0{len(str(whole)) - 1}d}".rstrip("0")
    return f".{digits}" if digits else ""
