"""One run over time: what its script logged above what the GPUs of its jobs did, all on the same axis."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from analysis.selectors import measurements_of
from jobs.experiments.models import ExperimentRun
from jobs.experiments.points import Series
from jobs.models import Job
from metrics.series import Floats, RunMetrics
from portal.charts.curves import Axis, Curve, CurveChart, Titled, curve_chart
from portal.charts.logged_runs import JobLink, shown, until
from reports.figure_data import averaged_rows, figure_data, use_over_time
from reports.figure_marks import Mark, figure_marks, levels
from reports.figure_readings import clock_time
from reports.selectors import report_row, report_value
from reports.services.links import finding_url

GPU_POINTS_MAX = 300
LANE_PIXELS, LATE_PERCENT = 18, 85.0
AXIS_NAME = "time since the start"
WHOLE, OF_RUN = "all", "run"


@dataclass(frozen=True)
class DrawnMark:
    """A finding above the use of GPUs, in percent of the width; at the right its number stands before its end."""

    number: str
    x: float
    width: float
    y: int
    text_y: int
    is_late: bool


@dataclass(frozen=True)
class ListedMark:
    """The same as a line of a list."""

    number: str
    title: str
    words: str
    url: str


@dataclass(frozen=True)
class Marks:
    """The findings of the jobs that have a place in time."""

    drawn: tuple[DrawnMark, ...]
    listed: tuple[ListedMark, ...]
    height: int


@dataclass(frozen=True)
class Timeline:
    """The charts from the top down; `use` and `memory` are None where nothing was measured that the reader sees."""

    metrics: tuple[CurveChart, ...]
    use: CurveChart | None
    memory: CurveChart | None
    marks: Marks | None
    begins_at: datetime


@dataclass(frozen=True)
class JobCourse:
    """What was measured of one job, `offset_s` after the beginning of the axis, and the findings of its report."""

    job: Job
    offset_s: float
    measured: RunMetrics
    marks: tuple[Mark, ...]


def timeline(
    run: ExperimentRun, series: Mapping[str, Series], links: Sequence[JobLink], now: datetime, part: str = WHOLE
) -> Timeline:
    """The run and the jobs that the reader sees; `part` OF_RUN leaves out what the jobs did before and after it."""
    jobs = [link.job for link in links if link.job is not None and link.job.started_at is not None]
    starts = [run.started_at] if part == OF_RUN else [run.started_at, *(job.started_at for job in jobs)]
    begins_at = min(filter(None, starts))
    courses = [_course(job, begins_at) for job in jobs]
    last_s = _last_second(run, series, [] if part == OF_RUN else jobs, begins_at, now)
    axis = Axis(0.0, max(last_s, 1.0), clock_time)
    edges = _edges(run, jobs, begins_at, axis)
    charts = [
        _metric_chart(place, name, one, begins_at, axis, edges) for place, (name, one) in enumerate(series.items())
    ]
    use, memory = _use_curve(courses, axis), _memory_curves(courses, axis)
    return Timeline(
        metrics=tuple(charts),
        use=curve_chart(_USE, [use], axis, bounds=(0.0, 100.0), edges=edges) if use else None,
        memory=curve_chart(_MEMORY, memory, axis, bounds=(0.0, _capacity(courses, memory)), edges=edges)
        if memory
        else None,
        marks=_marks(courses, axis) if use else None,
        begins_at=begins_at,
    )


_USE = Titled("gpu-use", "GPU use", AXIS_NAME, "mean of the job’s GPUs, and from the least to the most used one")
_MEMORY = Titled("gpu-memory", "GPU memory", AXIS_NAME, "mean of the job’s GPUs, and the fullest one")


def _course(job: Job, begins_at: datetime) -> JobCourse:
    measured, row = measurements_of(job), report_row(job)
    marks = figure_marks(report_value(row, measured)) if row else ()
    offset_s = (job.started_at - begins_at).total_seconds() if job.started_at else 0.0
    return JobCourse(job, offset_s, measured, marks)


def _last_second(
    run: ExperimentRun, series: Mapping[str, Series], jobs: Sequence[Job], begins_at: datetime, now: datetime
) -> float:
    ends = [until(run), *(job.ended_at or now for job in jobs)]
    last_ms = max((one.digest.last_ms for one in series.values()), default=0)
    return max(*((end - begins_at).total_seconds() for end in ends), last_ms / 1000 - begins_at.timestamp(), 0.0)


def _edges(run: ExperimentRun, jobs: Sequence[Job], begins_at: datetime, axis: Axis) -> list[float]:
    """Where the run and its jobs begin and end, but for the ends of the axis."""
    moments = [run.started_at, run.ended_at, *(at for job in jobs for at in (job.started_at, job.ended_at))]
    seconds = {(at - begins_at).total_seconds() for at in moments if at is not None}
    margin = (axis.last - axis.first) / 200
    return sorted(at for at in seconds if axis.first + margin < at < axis.last - margin)


def _metric_chart(
    place: int, name: str, series: Series, begins_at: datetime, axis: Axis, edges: Sequence[float]
) -> CurveChart:
    points, since_ms = series.points, series.digest.nan_since_ms
    at = points.times_ms.astype(np.float64) / 1000 - begins_at.timestamp()
    note = f"NaN since step {series.digest.nan_since_step:,}" if since_ms is not None else ""
    events = [since_ms / 1000 - begins_at.timestamp()] if since_ms is not None else []
    titled = Titled(f"metric-{place}", shown(name), AXIS_NAME, note)
    return curve_chart(titled, [Curve(shown(name), "run-1", at, points.values)], axis, events=events, edges=edges)


def _use_curve(courses: Sequence[JobCourse], axis: Axis) -> Curve | None:
    """Mean, least and most used GPU; None where nothing was measured."""
    parts = []
    for course in courses:
        if not course.measured.series.util.shape[1]:
            continue
        use = use_over_time(figure_data(course.measured))
        parts.append(_together(course, axis, use.mean, use.low, use.high))
    at, mean, low, high = _joined(parts)
    if not np.any(np.isfinite(mean)):
        return None
    return Curve("GPU use", "run-3", at, mean, low, high, is_held=False, unit=" %")


def _memory_curves(courses: Sequence[JobCourse], axis: Axis) -> list[Curve]:
    """Mean and fullest GPU; nothing where nothing was measured."""
    parts = []
    for course in courses:
        memory = course.measured.series.mem_gb
        mean = (
            averaged_rows(memory.T, np.zeros(memory.shape[1], dtype=np.int64))[0] if memory.shape[1] else memory[:, :1]
        )
        fullest = np.fmax.reduce(memory, axis=1, initial=np.nan) if memory.size else mean
        parts.append(_together(course, axis, mean.ravel(), fullest.ravel(), fullest.ravel()))
    at, mean, _, fullest = _joined(parts)
    if not np.any(np.isfinite(mean)):
        return []
    shape = {"is_held": False, "unit": " GB"}
    return [Curve("mean", "run-1", at, mean, **shape), Curve("fullest GPU", "run-2", at, fullest, **shape)]  # type: ignore[arg-type]


def _together(course: JobCourse, axis: Axis, mean: Floats, low: Floats, high: Floats) -> tuple[Floats, ...]:
    """The parts of a course within the axis, neighbours together where there are more than are drawn."""
    step_s = course.measured.series.step_s
    at: Floats = (np.arange(mean.size, dtype=np.float64) + 0.5) * step_s + course.offset_s
    is_in = (at >= axis.first) & (at <= axis.last)
    columns = tuple(column[is_in] for column in (at, mean, low, high))
    length = columns[0].size
    if length <= GPU_POINTS_MAX:
        return columns
    groups = np.arange(length) // -(-length // GPU_POINTS_MAX)
    firsts = np.flatnonzero(np.diff(groups, prepend=-1))
    at, mean = (averaged_rows(column[:, np.newaxis], groups)[:, 0] for column in columns[:2])
    return at, mean, np.fmin.reduceat(columns[2], firsts), np.fmax.reduceat(columns[3], firsts)


def _joined(parts: Sequence[tuple[Floats, ...]]) -> tuple[Floats, Floats, Floats, Floats]:
    """The courses of several jobs in their order, with a gap between them."""
    columns: list[list[Floats]] = [[np.zeros(0)], [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]]
    for part in parts:
        if part[0].size:
            for column, values in zip(columns, part, strict=True):
                gap = part[0][:1] if column is columns[0] else np.array([np.nan])
                column += [gap, values]
    at, mean, low, high = (np.concatenate(column) for column in columns)
    return at, mean, low, high


def _capacity(courses: Sequence[JobCourse], curves: Sequence[Curve]) -> float:
    """GB of the largest GPU, else of what was used."""
    sizes = np.concatenate([*(course.measured.gpus.mem_total_gb for course in courses), np.zeros(0)])
    known = sizes[np.isfinite(sizes)]
    used = max(float(np.nanmax(curve.values)) for curve in curves)
    return max(float(np.ceil(known.max())) if known.size else 0.0, used, 0.1)


def _marks(courses: Sequence[JobCourse], axis: Axis) -> Marks | None:
    """The findings above the use, numbered as in the reports; with several jobs the number of the job comes first."""
    drawn, listed, height = [], [], 0
    for place, course in enumerate(courses, start=1):
        for mark, level in zip(course.marks, levels(course.marks), strict=True):
            number = f"{place}.{mark.number}" if len(courses) > 1 else f"{mark.number}"
            url = finding_url(course.job, mark.code)
            listed.append(ListedMark(number, mark.title, mark.words, url))
            start, end = (
                100 * (at + course.offset_s - axis.first) / (axis.last - axis.first)
                for at in (mark.start_s, mark.end_s)
            )
            if end < 0 or start > 100:
                continue
            start, end = max(start, 0.0), min(end, 100.0)
            width, top = max(end - start, 0.4), level * LANE_PIXELS
            is_late = start > LATE_PERCENT
            drawn.append(DrawnMark(number, round(min(start, 99.6), 2), round(width, 2), top + 12, top + 10, is_late))
            height = max(height, top + LANE_PIXELS)
    return Marks(tuple(drawn), tuple(listed), height) if listed else None
