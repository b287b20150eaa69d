"""Columns and tables of charts as markup, because a year has thousands of numbers and a template takes ten times as
long."""

from collections.abc import Iterable, Sequence

from django import template
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from analysis.early.figures import RunningFigures
from analysis.models import JobEfficiency
from analysis.use_course import course_points
from portal.charts.columns import HEIGHT, Column

register = template.Library()

TEXTURES = {
    "acceptable": "M0 5H10",
    "inefficient": "M0 10L10 0",
    "wasted": "M0 0L10 10M10 0L0 10",
    "unknown": "M5 0V10",
}


@register.filter
def drawn(columns: Iterable[Column]) -> SafeString:
    """Each column as a group: its text, the area for the pointer, and its parts.

    >>> drawn([Column(0.0, 10.0, (), "a < b")])
    '<g class="column"><title>a &lt; b</title><rect class="hit" x="0.0" y="0" width="10.0" height="200"/></g>'
    """
    return mark_safe("".join(map(_column, columns)))  # noqa: S308 (numbers of ours; every text is escaped)


def _column(column: Column) -> str:
    parts = "".join(
        f'<rect class="c-{escape(part.css_class)}" x="{part.x}" y="{part.y}"'
        f' width="{part.width}" height="{part.height}"/>'
        for part in column.parts
    )
    place = f'<rect class="hit" x="{column.x}" y="0" width="{column.width}" height="{HEIGHT:.0f}"/>'
    return f'<g class="column"><title>{escape(column.text)}</title>{place}{parts}</g>'


@register.filter
def texture(css_class: str) -> str:
    """The lines over the colour of a class, in a square of 10, that tell it apart without colours; Efficient is plain.

    >>> texture("wasted"), texture("efficient")
    ('M0 0L10 10M10 0L0 10', '')
    """
    return TEXTURES.get(css_class, "")


@register.filter
def table_rows(rows: Iterable[Sequence[object]]) -> SafeString:
    """The rows of a table whose first cell names the row and whose others are numbers.

    >>> table_rows([("Mon", 1, "<2")])
    '<tr><th scope="row">Mon</th><td class="number">1</td><td class="number">&lt;2</td></tr>'
    """
    return mark_safe("".join(map(_row, rows)))  # noqa: S308 (every cell is escaped)


def _row(cells: Sequence[object]) -> str:
    numbers = "".join(f'<td class="number">{escape(cell)}</td>' for cell in cells[1:])
    return f'<tr><th scope="row">{escape(cells[0])}</th>{numbers}</tr>'


SPARK_WIDTH, SPARK_HEIGHT, CHART_HEIGHT = 96, 24, 150


@register.filter
def spark(judged: JobEfficiency) -> SafeString:
    """The use of a run over its time as a small filled line in the colour of its class; the number stands beside it.

    Where only the mean is known it is drawn as a bar of that height; nothing where nothing was measured.
    """
    points = course_points(bytes(judged.use_course) if judged.use_course else None)
    if not points and judged.avg_gpu_util is not None:
        points = (round(judged.avg_gpu_util),)
    if not any(point is not None for point in points):
        return mark_safe("")
    step = SPARK_WIDTH / len(points)
    steps = "".join(_spark_step(place * step, step, point) for place, point in enumerate(points) if point is not None)
    return _picture("spark", judged.efficiency_class.lower(), steps, SPARK_HEIGHT)


@register.filter
def use_so_far(figures: RunningFigures, css_class: str = "spark") -> SafeString:
    """The use of a job that still runs, from its start until it was measured last; nothing where nothing was.

    Its text is beside it.
    """
    if not any(point is not None for point in figures.use):
        return mark_safe("")
    height = SPARK_HEIGHT if css_class == "spark" else CHART_HEIGHT
    return _picture(css_class, "finding", _outline(figures.use, SPARK_WIDTH / len(figures.use), height), height)


def _picture(css_class: str, fill: str, path: str, height: int) -> SafeString:
    return mark_safe(  # noqa: S308 (numbers of ours and the names of classes)
        f'<svg class="{escape(css_class)}" viewBox="0 0 {SPARK_WIDTH} {height}" preserveAspectRatio="none"'
        f' aria-hidden="true"><path class="c-{escape(fill)}" d="{path}"/></svg>'
    )


def _outline(points: Sequence[float | None], step: float, ground: int) -> str:
    """What was measured as one area, without seams between its parts; a gap where nothing was.

    >>> _outline([50.0, 0.0, None, 100.0], 10.0, 100)
    'M0.0 100V50.0H10.0V99.0H20.0V100zM30.0 100V0.0H40.0V100z'
    """
    path, is_open = "", False
    for place, point in enumerate([*points, None]):
        if point is not None:
            start = "" if is_open else f"M{place * step:.1f} {ground}"
            path += f"{start}V{ground - max(point / 100 * ground, 1.0):.1f}H{(place + 1) * step:.1f}"
        elif is_open:
            path += f"V{ground}z"
        is_open = point is not None
    return path


def _spark_step(left: float, width: float, percent: int) -> str:
    """One part of the run as a column from the ground; idle is a thin line, what was not measured is a gap."""
    height = max(percent / 100 * SPARK_HEIGHT, 1.0)
    return f"M{left:.1f} {SPARK_HEIGHT}v{-height:.1f}h{width:.1f}v{height:.1f}z"
