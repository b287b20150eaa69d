"""Which part of a raw window a page shows: from and to in seconds after its start, and the ways to other parts."""

from collections.abc import Mapping
from dataclasses import dataclass

from portal.asked_numbers import finite_number

SPAN_LEAST_S = 1.0
FINE_S = 20.0
PARTS = 6


@dataclass(frozen=True)
class Span:
    """From `from_s` to `to_s` of a window that ends at `end_s`."""

    from_s: float
    to_s: float
    end_s: float

    def __str__(self) -> str:
        return f"{self.first_label} to {self.last_label}"

    @property
    def first_label(self) -> str:
        return seconds(self.from_s, self)

    @property
    def last_label(self) -> str:
        return seconds(self.to_s, self)

    @property
    def query(self) -> dict[str, str]:
        """Its part of an address, to the millisecond."""
        return {"from": f"{round(self.from_s, 3):.10g}", "to": f"{round(self.to_s, 3):.10g}"}


def asked_span(query: Mapping[str, str], end_s: float) -> Span:
    """The part that an address asks for, within the window; all of it where the address says nothing sensible.

    >>> asked_span({"from": "30", "to": "90"}, 600.0)
    Span(from_s=30.0, to_s=90.0, end_s=600.0)
    >>> asked_span({"from": "nan", "to": "x"}, 600.0) == asked_span({}, 600.0) == Span(0.0, 600.0, 600.0)
    True
    """
    from_s, to_s = finite_number(query.get("from", "")), finite_number(query.get("to", ""))
    return _within(0.0 if from_s is None else from_s, end_s if to_s is None else to_s, end_s)


def zooms(span: Span) -> dict[str, Span]:
    """Where the buttons lead, by what they say; one that changes nothing leads to the same span."""
    middle, width = (span.from_s + span.to_s) / 2, span.to_s - span.from_s
    return {
        "Zoom in": _around(middle, width / 2, span.end_s),
        "Zoom out": _around(middle, width * 2, span.end_s),
        "Earlier": _around(middle - width / 2, width, span.end_s),
        "Later": _around(middle + width / 2, width, span.end_s),
        "Whole window": Span(0.0, span.end_s, span.end_s),
    }


def parts(span: Span) -> list[Span]:
    """The span in equal parts, each to zoom into; none where they would be too short."""
    step = (span.to_s - span.from_s) / PARTS
    if step < SPAN_LEAST_S:
        return []
    return [Span(span.from_s + at * step, span.from_s + (at + 1) * step, span.end_s) for at in range(PARTS)]


def seconds(value: float, span: Span) -> str:
    """A moment of a window, as exact as its span is long.

    >>> seconds(12.345, Span(10.0, 20.0, 600.0)), seconds(12.345, Span(0.0, 600.0, 600.0))
    ('12.35 s', '12.3 s')
    >>> str(Span(0.0, 600.0, 600.0))
    '0 s to 600 s'
    """
    return f"{round(value, 2 if span.to_s - span.from_s <= FINE_S else 1):.10g} s"


def _within(from_s: float, to_s: float, end_s: float) -> Span:
    if to_s <= from_s:
        return Span(0.0, end_s, end_s)
    from_s, to_s = max(from_s, 0.0), min(to_s, end_s)
    return _around((from_s + to_s) / 2, to_s - from_s, end_s)


def _around(middle: float, width: float, end_s: float) -> Span:
    """A span of this width, pushed back into the window where it would reach beyond."""
    width = min(max(width, SPAN_LEAST_S), end_s)
    from_s = min(max(middle - width / 2, 0.0), end_s - width)
    return Span(from_s, from_s + width, end_s)
