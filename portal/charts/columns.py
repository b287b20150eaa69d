"""Charts as shapes in a box of 0..WIDTH by 0..HEIGHT, drawn as SVG by `portal/_chart.html`.

The box is stretched to the page, so labels stand beside it as text. Colours come from classes of the stylesheet:
the content policy allows no inline style.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 1000.0, 200.0
FILLED = 0.8
"""The part of a step that its column fills; the rest keeps columns apart."""


@dataclass(frozen=True)
class Rect:
    """One part of a column, in the colours of `css_class`."""

    x: float
    y: float
    width: float
    height: float
    css_class: str


@dataclass(frozen=True)
class Column:
    """One step: its parts, none of a line, and what is read there by pointer and keys."""

    x: float
    width: float
    parts: tuple[Rect, ...]
    text: str


@dataclass(frozen=True)
class Dot:
    """One measured point of a line."""

    x: float
    y: float


@dataclass(frozen=True)
class Chart:
    """A title, the drawing, its axes (`scale` from the top down), and the same numbers as a table.

    `labels` are two lines below each column, in place of the dates of the ends. With `scale_right` the line and its
    dots have a scale of their own, and `scale_names` name both. What `is_textured` can be read without colours.
    """

    key: str
    title: str
    summary: str
    scale: tuple[str, ...]
    first_label: str
    last_label: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    columns: tuple[Column, ...] = ()
    dots: tuple[Dot, ...] = ()
    line: tuple[str, ...] = ()
    guides: tuple[float, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    middle_label: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    scale_right: tuple[str, ...] = ()
    scale_names: tuple[str, ...] = ()
    is_textured: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.dots and not any(column.parts for column in self.columns)


def nice_top(value: float) -> float:
    """The next round number for the top of an axis.

    >>> nice_top(0.0), nice_top(7.2), nice_top(23.0), nice_top(1040.0)
    (1.0, 8.0, 25.0, 1500.0)
    """
    if value <= 0:
        return 1.0
    unit = 10.0 ** math.floor(math.log10(value))
    return next(step * unit for step in (1, 1.5, 2, 2.5, 3, 4, 5, 6, 8, 10) if value <= step * unit)


def scale(top: float, unit: str = "") -> tuple[str, str, str]:
    """The labels of an axis: its top, its middle and its foot.

    >>> scale(2500.0), scale(1.5), scale(100.0, " %")
    (('2,500', '1,250', '0'), ('1.5', '0.75', '0'), ('100 %', '50 %', '0 %'))
    """
    return f"{top:,.10g}{unit}", f"{top / 2:,.10g}{unit}", f"0{unit}"


def columns(stacks: Sequence[Sequence[tuple[str, float]]], texts: Sequence[str], top: float) -> tuple[Column, ...]:
    """A column for each stack of (css class, value), bottom part first."""
    step = WIDTH / max(len(stacks), 1)
    made = []
    for index, (stack, text) in enumerate(zip(stacks, texts, strict=True)):
        x, y, parts = step * (index + (1 - FILLED) / 2), HEIGHT, []
        for css_class, value in stack:
            height = HEIGHT * value / top
            y -= height
            if height > 0:
                parts.append(Rect(round(x, 1), round(y, 2), round(step * FILLED, 1), round(height, 2), css_class))
        made.append(Column(round(step * index, 1), round(step, 1), tuple(parts), text))
    return tuple(made)


def line(values: Sequence[float | None], top: float) -> tuple[tuple[str, ...], tuple[Dot, ...]]:
    """The strokes between neighbouring values, broken where one is None, and a dot for each value.

    >>> line([0.0, 50.0, None], 100.0)[0]
    ('166.7,200.0 500.0,100.0',)
    """
    step = WIDTH / max(len(values), 1)
    strokes: list[list[str]] = [[]]
    dots = []
    for index, value in enumerate(values):
        if value is None:
            strokes.append([])
            continue
        x, y = round(step * (index + 0.5), 1), round(HEIGHT * (1 - value / top), 1)
        strokes[-1].append(f"{x},{y}")
        dots.append(Dot(x, y))
    return tuple(" ".join(stroke) for stroke in strokes if len(stroke) > 1), tuple(dots)
