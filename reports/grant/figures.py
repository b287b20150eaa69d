"""The two figures of a grant report as SVG: GPU-hours of each day or week by class, and their sum since the beginning.

matplotlib alone; the same report gives the same bytes. The colours differ for colour-blind readers (Okabe and Ito), and
a table of the report has the sums of the classes.
"""

from collections.abc import Callable, Sequence
from datetime import date
from io import BytesIO
from itertools import accumulate

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.efficiency import EfficiencyClass
from reports.figures import ACCENT, DRAWING, FREE, INK, METADATA, MUTED, Margins
from reports.grant.report import GrantReport
from reports.svg import page_svg
from wire.classes import CLASS_NAMES
from wire.numbers import hours

SIZE_IN = (7.2, 1.85)
FILLS = {
    "EFFICIENT": "#009e73",
    "ACCEPTABLE": "#56b4e9",
    "INEFFICIENT": "#e69f00",
    "WASTED": "#d55e00",
    "UNKNOWN": "#9aa7b1",
}
"""The colours of the classes, as `--fill-*` of the portal's style has them."""

NOT_JUDGED = "Not judged"
SHOWN_HOURS_MIN = 0.005
"""Less is zero in the digits that are shown."""
BAR_WIDTH, TICKS_MAX = 0.82, 8
ROOM_ABOVE = 1.12


def figure_names(report: GrantReport) -> tuple[str, ...]:
    """The figures that show something: none without hours."""
    return tuple(FIGURES) if any(step.billed_gpu_hours for step in report.steps) else ()


def draw(report: GrantReport, name: str) -> bytes:
    """One figure as SVG; KeyError for an unknown name."""
    file = BytesIO()
    with DRAWING:
        figure = Figure(figsize=SIZE_IN)
        axes = figure.add_axes(Margins(left=0.75, bottom=0.36, top=0.34).rectangle(SIZE_IN))
        FIGURES[name](axes, report)
        _days(axes, [step.first for step in report.steps])
        axes.tick_params(length=2, pad=3)
        figure.savefig(file, format="svg", metadata=METADATA["svg"])
    return page_svg(file.getvalue(), name)


def figure_text(report: GrantReport, name: str) -> str:
    """What a figure shows, in a sentence."""
    total = hours(report.use.billed_gpu_hours)
    if name == "by_class":
        shown = [f"{CLASS_NAMES[row.name].lower()} {hours(row.gpu_hours)}" for row in report.classes]
        unjudged = report.use.billed_gpu_hours - sum(row.gpu_hours for row in report.classes)
        if unjudged >= SHOWN_HOURS_MIN:
            shown.append(f"{NOT_JUDGED.lower()} {hours(unjudged)}")
        parts = f"; {', '.join(shown)}" if shown else ""
        return f"GPU-hours of each {report.step} by class of the jobs: {total} in all{parts}."
    allocated = report.allocation if _shows_allocation(report) else None
    of = f" of {allocated.gpu_hours:,.0f} allocated" if allocated else ""
    return f"GPU-hours used since the period began: {total}{of}{' by its end' if report.is_over else ' so far'}."


def _shows_allocation(report: GrantReport) -> bool:
    """Only in a report that begins with the allocation: what was used earlier is not in the sum."""
    return report.allocation is not None and report.allocation.begins_on == report.first


def _by_class(axes: Axes, report: GrantReport) -> None:
    places = range(len(report.steps))
    bottom = [0.0] * len(report.steps)
    for name in (each.value for each in EfficiencyClass):
        heights = [step.gpu_hours_by_class.get(name, 0.0) for step in report.steps]
        if any(heights):
            bottom = _bars(axes, places, heights, bottom, (CLASS_NAMES[name], FILLS[name]))
    rest = [max(step.billed_gpu_hours - below, 0.0) for step, below in zip(report.steps, bottom, strict=True)]
    if max(rest) >= 0.01:
        bottom = _bars(axes, places, rest, bottom, (NOT_JUDGED, FREE))
    axes.set_ylim(0, max(bottom) * ROOM_ABOVE)
    axes.set_ylabel("GPU-hours")
    axes.legend(ncols=6, loc="lower left", bbox_to_anchor=(-0.01, 1.0), frameon=False, handlelength=1.3, borderpad=0.1)


def _bars(
    axes: Axes, places: Sequence[int], heights: Sequence[float], bottom: Sequence[float], look: tuple[str, str]
) -> list[float]:
    """Draw what is not zero; returns where the next ones stand."""
    label, fill = look
    shown = [place for place in places if heights[place] > 0]
    axes.bar(
        shown,
        [heights[place] for place in shown],
        BAR_WIDTH,
        bottom=[bottom[place] for place in shown],
        color=fill,
        edgecolor=INK,
        linewidth=0.3,
        label=label,
    )
    return [below + height for below, height in zip(bottom, heights, strict=True)]


def _used(axes: Axes, report: GrantReport) -> None:
    used = list(accumulate(step.billed_gpu_hours for step in report.steps))
    known = sum(1 for step in report.steps if step.first <= report.made_at.date())
    axes.step(range(known), used[:known], where="mid", color=ACCENT, linewidth=1.6)
    axes.fill_between(range(known), used[:known], step="mid", color=ACCENT, alpha=0.12, linewidth=0)
    top = used[-1]
    if report.allocation and _shows_allocation(report):
        top = max(top, report.allocation.gpu_hours)
        axes.axhline(report.allocation.gpu_hours, color=INK, linewidth=1.0, linestyle=(0, (5, 3)))
        axes.text(0, report.allocation.gpu_hours, " allocated", va="bottom", color=MUTED)
    axes.set_ylim(0, top * ROOM_ABOVE)
    axes.set_ylabel("GPU-hours, sum")


FIGURES: dict[str, Callable[[Axes, GrantReport], None]] = {"by_class": _by_class, "used": _used}


def _days(axes: Axes, firsts: Sequence[date]) -> None:
    every = -(-len(firsts) // TICKS_MAX)
    places = range(0, len(firsts), every)
    axes.set_xticks(list(places), [f"{firsts[place]:%-d %b %Y}" for place in places])
    axes.set_xlim(-0.6, len(firsts) - 0.4)
