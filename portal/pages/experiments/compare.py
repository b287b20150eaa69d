"""Curves of several runs of an experiment: one metric by step, time or GPU-hours, and what differs between the runs."""

from collections.abc import Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

import numpy as np
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from analysis.progress.cost import Reached
from analysis.progress.rates import Stretch
from jobs.experiments.limits import KEY_LENGTH_MAX
from jobs.experiments.models import Experiment, ExperimentRun
from jobs.experiments.points import Series
from jobs.experiments.selectors import metric_names, series_of
from jobs.selectors import reach_of
from metrics.series import Floats
from portal.access import person, signed_in_page, visible_experiment
from portal.charts.curves import Axis, Curve, CurveChart, Titled, curve_chart
from portal.charts.logged_runs import JobLink, ShownRun, job_links, run_label, seconds_of, shown, status_of
from portal.charts.progress import Progress, progress_of_runs, runs_at_once, stretches_of
from portal.charts.reaching import Target, reached_by, target_in
from reports.figure_readings import clock_time
from wire.numbers import hours

RUNS_MAX, LOOKED_UP_MAX = 10, 40
METRICS_OFFERED_MAX, PARAMS_SHOWN_MAX, TEXT_SHOWN_MAX = 200, 100, 60
STEP, TIME, HOURS = "step", "time", "hours"
WAYS = {STEP: "step", TIME: "time since the start of each run", HOURS: "GPU-hours"}


@dataclass(frozen=True)
class Side(ShownRun):
    """One run of the comparison: its line, what is exact of the metric, and what it cost."""

    css_class: str
    links: tuple[JobLink, ...]
    stretches: tuple[Stretch, ...]
    series: Series | None
    progress: Progress
    reached: Reached | None


@dataclass(frozen=True)
class DifferingParam:
    """One parameter that is not the same in all runs; a run without it has an empty cell."""

    name: str
    texts: tuple[str | None, ...]


@signed_in_page
def compare_runs(request: HttpRequest, pk: int) -> HttpResponse:
    """The runs in the address side by side, without those that are not in this experiment; 404 for a stranger."""
    experiment = visible_experiment(request, pk)
    runs, named = _chosen(experiment, request.GET.getlist("run"))
    metrics = _metric_names(runs)
    asked = request.GET.get("metric", "")[:KEY_LENGTH_MAX]
    metric = asked or next(iter(metrics), "")
    way = request.GET.get("by", STEP) if request.GET.get("by") in WAYS else STEP
    target = target_in(request.GET, metric)
    sides = _sides(request, runs, metric, target)
    differing, same = differing_params(runs)
    context = {
        "experiment": experiment,
        "sides": sides,
        "left_out": max(named - len(runs), 0),
        "runs_max": RUNS_MAX,
        "metrics": [(name, shown(name)) for name in (metrics if metric in metrics else [metric, *metrics]) if name],
        "metric": metric,
        "metric_label": shown(metric),
        "ways": list(WAYS.items()),
        "way": way,
        "target": target,
        "chart": _chart(sides, shown(metric), way),
        "without_hours": [side.label for side in sides if way == HOURS and not _has_price(side.stretches)],
        "differing": differing,
        "same": same,
        "address": urlencode([("run", run.run_id) for run in runs]),
    }
    return render(request, "portal/experiments/compare.html", context)


def differing_params(runs: Sequence[ExperimentRun]) -> tuple[list[DifferingParam], int]:
    """The parameters that are not the same in all runs, by name, and how many are the same."""
    names = sorted({name for run in runs for name in run.params})
    found = [DifferingParam(shown(name), tuple(_text(run, name) for run in runs)) for name in names]
    differ = [row for row, name in zip(found, names, strict=True) if len({run.params.get(name) for run in runs}) > 1]
    return differ[:PARAMS_SHOWN_MAX], len(found) - len(differ)


def _text(run: ExperimentRun, name: str) -> str | None:
    text = run.params.get(name)
    return None if text is None else shown(text, TEXT_SHOWN_MAX)


def _chosen(experiment: Experiment, names: Sequence[str]) -> tuple[list[ExperimentRun], int]:
    """The runs of these identifiers in their order, at most `RUNS_MAX`, and how many different ones were named."""
    wanted = list(dict.fromkeys(name for name in names if name))
    by_id = {run.run_id: run for run in experiment.runs.filter(run_id__in=wanted[:LOOKED_UP_MAX])}
    return [by_id[name] for name in wanted if name in by_id][:RUNS_MAX], len(wanted)


def _metric_names(runs: Sequence[ExperimentRun]) -> list[str]:
    """The metrics of these runs, those that most of them have first."""
    counted = metric_names([run.pk for run in runs])
    return sorted(counted, key=lambda name: (-counted[name], name))[:METRICS_OFFERED_MAX]


def _sides(request: HttpRequest, runs: Sequence[ExperimentRun], metric: str, target: Target | None) -> list[Side]:
    links = job_links(runs, reach_of(person(request)))
    shared, progress = runs_at_once(links), progress_of_runs(runs, links)
    sides = []
    for place, run in enumerate(runs, start=1):
        of_run = links.get(run.pk, ())
        stretches = stretches_of(run, of_run, is_shared=run.pk in shared)
        series = series_of(run, [metric]).get(metric) if metric else None
        sides.append(
            Side(
                run=run,
                label=shown(run_label(run), TEXT_SHOWN_MAX),
                css_class=f"run-{place}",
                status=status_of(run),
                seconds=seconds_of(run, timezone.now()),
                links=of_run,
                stretches=tuple(stretches),
                series=series,
                progress=progress[run.pk],
                reached=reached_by(series, target, run, stretches),
            )
        )
    return sides


def _chart(sides: Sequence[Side], metric: str, way: str) -> CurveChart:
    curves = [curve for side in sides if (curve := _curve(side, way)) is not None]
    last = max((float(curve.at.max()) for curve in curves if curve.at.size), default=1.0)
    first = min((float(curve.at.min()) for curve in curves if curve.at.size), default=0.0) if way == STEP else 0.0
    axis = Axis(first, last if last > first else first + 1.0, WRITTEN[way])
    return curve_chart(Titled("metric", metric or "No metric", WAYS[way]), curves, axis)


def _curve(side: Side, way: str) -> Curve | None:
    """The metric of one run; None where it has no such metric, or no place on this axis."""
    if side.series is None or (way == HOURS and not _has_price(side.stretches)):
        return None
    points = side.series.points
    at = PLACES[way](side, points.steps.astype(np.float64), points.times_ms.astype(np.float64))
    order = np.argsort(at, kind="stable")
    return Curve(side.label, side.css_class, at[order], points.values[order])


def _seconds(side: Side, _: Floats, times_ms: Floats) -> Floats:
    return times_ms / 1000 - side.run.started_at.timestamp()


def _gpu_hours(side: Side, _: Floats, times_ms: Floats) -> Floats:
    """What the jobs were billed for this run until each moment."""
    total = np.zeros_like(times_ms)
    for stretch in side.stretches:
        passed_ms = np.clip(times_ms, stretch.start_ms, stretch.end_ms) - stretch.start_ms
        total += passed_ms / 3_600_000 * (stretch.gpu_hours_an_hour or 0.0)
    return total


def _has_price(stretches: Sequence[Stretch]) -> bool:
    return bool(stretches) and all(stretch.gpu_hours_an_hour is not None for stretch in stretches)


PLACES = {STEP: lambda _, steps, __: steps, TIME: _seconds, HOURS: _gpu_hours}
WRITTEN = {STEP: lambda at: f"{at:,.0f}", TIME: clock_time, HOURS: lambda at: f"{hours(at)} GPU-h"}
