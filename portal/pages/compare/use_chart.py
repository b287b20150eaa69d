"""GPU use of several runs over the time since each one started: one picture, its readings and its table."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.use_course import course_points
from metrics.series import Floats, RunMetrics
from portal.charts.columns import HEIGHT, WIDTH, Column, scale
from portal.charts.curves import DrawnLine, LineChart, reading
from reports.figure_data import averaged_rows, figure_data, use_over_time
from reports.figure_readings import clock_time, said_percent

POINTS_MAX = 240
"""Points of one line: as many as the picture can show."""

READINGS, TABLE_ROWS = 48, 12
ENDED, STILL_RUNNING = "ended", "still running"


@dataclass(frozen=True)
class UseOfRun:
    """The mean use of all GPUs of one run in percent, in steps of `step_s` from its start; NaN is not measured.

    `is_coarse` where only the short row of numbers of its judgement is kept, `after_last` what is known of later times.
    """

    name: str
    elapsed_s: float
    step_s: float
    values: Floats
    is_coarse: bool = False
    after_last: str = ENDED

    def at(self, seconds: float) -> str:
        """What it was at a moment since the start."""
        if seconds >= self.elapsed_s:
            return self.after_last
        place = int(seconds / self.step_s) if self.values.size else 0
        return said_percent(float(self.values[place]) if place < self.values.size else np.nan)


def use_of_run(
    name: str, elapsed_s: float | None, measured: RunMetrics, course: bytes | None, *, after_last: str = ENDED
) -> UseOfRun:
    """The use of a run as its page's figure has it; where that is no longer kept, the course of its judgement."""
    length_s = elapsed_s or measured.series.length * measured.series.step_s
    if not np.any(~np.isnan(measured.series.util)):
        points = [np.nan if point is None else float(point) for point in course_points(course)]
        return UseOfRun(name, length_s, length_s / max(len(points), 1), np.array(points), bool(points), after_last)
    use = use_over_time(figure_data(measured))
    together = -(-use.mean.size // POINTS_MAX)
    groups = np.arange(use.mean.size) // together
    means = averaged_rows(use.mean[:, np.newaxis], groups)[:, 0]
    return UseOfRun(name, length_s, use.clock.step_s * together, means, after_last=after_last)


def use_chart(runs: Sequence[UseOfRun]) -> LineChart:
    """All runs from their start on one axis, which ends with the longest."""
    end_s = max((run.elapsed_s for run in runs), default=0.0) or 1.0
    times_s = [(place + 0.5) * end_s / READINGS for place in range(READINGS)]
    said = [(clock_time(at_s), *(run.at(at_s) for run in runs)) for at_s in times_s]
    width = WIDTH / READINGS
    return LineChart(
        summary="Lines: mean GPU use of each job over the time since its start.",
        scale=scale(100.0, " %"),
        ticks=tuple(clock_time(end_s * part) for part in (0.0, 0.5, 1.0)),
        lines=tuple(
            DrawnLine(run.name, f"run-{place}", _strokes(run, end_s), is_coarse=run.is_coarse)
            for place, run in enumerate(runs, start=1)
        ),
        columns=tuple(
            Column(round(place * width, 1), round(width, 1), (), reading([run.name for run in runs], row))
            for place, row in enumerate(said)
        ),
        head=("", *(run.name for run in runs)),
        rows=tuple(said[:: READINGS // TABLE_ROWS]),
    )


def _strokes(run: UseOfRun, end_s: float) -> tuple[str, ...]:
    """The line in pieces, broken where nothing was measured; a single value is as long as its step."""
    strokes: list[list[str]] = [[]]
    for place, value in enumerate(run.values.tolist()):
        if np.isnan(value):
            strokes.append([])
            continue
        middle_s = (place + 0.5) * run.step_s
        if middle_s > run.elapsed_s:
            break
        strokes[-1].append(f"{WIDTH * middle_s / end_s:.1f},{HEIGHT * (1 - min(value, 100.0) / 100):.1f}")
    return tuple(" ".join(stroke if len(stroke) > 1 else stroke * 2) for stroke in strokes if stroke)
