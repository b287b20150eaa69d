"""The charts of the history and project pages, made from the steps of a period."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from analysis.efficiency import EfficiencyClass
from analysis.history.sums import Step
from portal.charts.columns import HEIGHT, Chart, columns, line, nice_top, scale
from reports.numbers import unbroken
from wire.classes import BOUNDS_PERCENT, CLASS_NAMES
from wire.numbers import counted, hours

MIDDLE_STEPS_MIN = 3
CLASS_LEGEND = tuple((name.value.lower(), CLASS_NAMES[name.value]) for name in EfficiencyClass)


def step_name(start: datetime, step: str) -> str:
    """A day or a week as its readers call it."""
    return f"week of {start:%-d %b %Y}" if step == "week" else f"{start:%a %-d %b}"


def charts(steps: Sequence[Step], step: str) -> list[Chart]:
    """GPU-hours by class, median use, and unused GPU-hours."""
    names = [step_name(row.start, step) for row in steps]
    return [_classes(steps, names), _median_use(steps, names), _waste(steps, names)]


def classes_and_median(steps: Sequence[Step], step: str) -> Chart:
    """GPU-hours by class as columns, and the median use as a line over them with a scale of its own."""
    names = [step_name(row.start, step) for row in steps]
    classes, median = _classes(steps, names), _median_use(steps, names)
    shown = [css for css, _ in classes.legend]
    texts = [
        f"{column.text}, median GPU use {_said_median(row)}" if row.jobs else f"{name}: no jobs"
        for name, column, row in zip(names, classes.columns, steps, strict=True)
    ]
    return Chart(
        key="weeks",
        title="GPU-hours by class, and median GPU use",
        summary=f"{classes.summary} Line: the median of the mean GPU use of jobs.",
        scale=classes.scale,
        scale_right=median.scale,
        scale_names=("GPU-hours", "Median GPU use"),
        head=("", "Jobs", *(f"{CLASS_NAMES[css.upper()]}, GPU-hours" for css in shown), "Median GPU use"),
        rows=tuple(
            (
                name,
                f"{row.jobs:,}",
                *(hours(row.hours_by_class.get(css.upper(), 0.0)) for css in shown),
                _said_median(row),
            )
            for name, row in zip(names, steps, strict=True)
        ),
        columns=tuple(replace(column, text=text) for column, text in zip(classes.columns, texts, strict=True)),
        dots=median.dots,
        line=median.line,
        legend=(*classes.legend, ("line", "Median GPU use (right scale)")),
        is_textured=True,
        **_ends(names),
    )


def _said_median(row: Step) -> str:
    return "no measured job" if row.median_util is None else unbroken(f"{row.median_util:.0f} %")


def _ends(names: Sequence[str]) -> dict[str, Any]:
    """The dates below a chart: of both ends, and of the middle where there is one.

    >>> _ends(["1 Nov", "2 Nov", "3 Nov"])
    {'first_label': '1 Nov', 'middle_label': '2 Nov', 'last_label': '3 Nov'}
    """
    middle = names[len(names) // 2] if len(names) >= MIDDLE_STEPS_MIN else ""
    return {"first_label": names[0], "middle_label": middle, "last_label": names[-1]}


def classes_of(steps: Sequence[Step], step: str) -> Chart:
    """GPU-hours by class alone."""
    return _classes(steps, [step_name(row.start, step) for row in steps])


def _classes(steps: Sequence[Step], names: Sequence[str]) -> Chart:
    totals = [sum(row.hours_by_class.values()) for row in steps]
    top = nice_top(max(totals))
    order = [name.value for name in EfficiencyClass]
    texts = [
        f"{name}: {counted(row.jobs, 'job')}, {hours(total)} GPU-hours{_parts(row, order)}"
        for name, row, total in zip(names, steps, totals, strict=True)
    ]
    return Chart(
        key="classes",
        title="GPU-hours by class",
        summary=f"Stacked columns: {hours(sum(totals))} GPU-hours in all, by class of their jobs.",
        scale=scale(top),
        head=("", "Jobs", *(f"{CLASS_NAMES[name]}, GPU-hours" for name in order)),
        rows=tuple(
            (label, f"{row.jobs:,}", *(hours(row.hours_by_class.get(name, 0.0)) for name in order))
            for label, row in zip(names, steps, strict=True)
        ),
        columns=columns(
            [[(name.lower(), row.hours_by_class.get(name, 0.0)) for name in order] for row in steps], texts, top
        ),
        legend=tuple(
            (css, label) for css, label in CLASS_LEGEND if any(row.hours_by_class.get(css.upper()) for row in steps)
        ),
        **_ends(names),
    )


def _parts(row: Step, order: Sequence[str]) -> str:
    """The GPU-hours of each class that there were any of."""
    shown = [f"{CLASS_NAMES[name]} {hours(row.hours_by_class[name])}" for name in order if row.hours_by_class.get(name)]
    return f" ({', '.join(shown)})" if shown else ""


def _median_use(steps: Sequence[Step], names: Sequence[str]) -> Chart:
    values = [row.median_util for row in steps]
    said = [_said_median(row) for row in steps]
    texts = [
        f"{name}: {text}" + (f", {counted(row.jobs, 'job')}" if row.jobs else "")
        for name, text, row in zip(names, said, steps, strict=True)
    ]
    strokes, dots = line(values, 100.0)
    return Chart(
        key="median",
        title="Median GPU use",
        summary="Line: the median of the mean GPU use of jobs, with the class boundaries at "
        + ", ".join(f"{bound:.0f} %" for bound in BOUNDS_PERCENT),
        scale=scale(100.0, " %"),
        head=("", "Median GPU use", "Jobs"),
        rows=tuple((name, text, f"{row.jobs:,}") for name, text, row in zip(names, said, steps, strict=True)),
        columns=columns([[] for _ in steps], texts, 100.0),
        dots=dots,
        line=strokes,
        guides=tuple(HEIGHT * (1 - bound / 100) for bound in BOUNDS_PERCENT),
        legend=(
            ("line", "Median"),
            ("guide", "Class boundaries at " + ", ".join(f"{b:.0f}" for b in BOUNDS_PERCENT) + " %"),
        ),
        **_ends(names),
    )


def _waste(steps: Sequence[Step], names: Sequence[str]) -> Chart:
    used = [sum(row.hours_by_class.values()) for row in steps]
    top = nice_top(max((row.wasted_gpu_hours for row in steps), default=0.0))
    texts = [
        f"{name}: {hours(row.wasted_gpu_hours)} of {hours(total)} GPU-hours unused"
        for name, row, total in zip(names, steps, used, strict=True)
    ]
    return Chart(
        key="waste",
        title="Unused GPU-hours (estimate)",
        summary=f"Columns: {hours(sum(row.wasted_gpu_hours for row in steps))} GPU-hours unused in all.",
        scale=scale(top),
        head=("", "Unused, GPU-hours", "Billed, GPU-hours"),
        rows=tuple(
            (name, hours(row.wasted_gpu_hours), hours(total))
            for name, row, total in zip(names, steps, used, strict=True)
        ),
        columns=columns([[("wasted", row.wasted_gpu_hours)] for row in steps], texts, top),
        **_ends(names),
    )
