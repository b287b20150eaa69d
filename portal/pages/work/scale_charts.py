"""Run time and efficiency by number of GPUs as two charts; their table stands beside them on the page."""

from dataclasses import dataclass

from analysis.scaling import GpuCount, Scaling
from analysis.thresholds import LIMITS
from portal.charts.columns import HEIGHT, Column, Rect, columns, nice_top, scale
from wire.numbers import counted, duration, percent

TICKS_MAX = 12
"""More numbers of GPUs than this leave no room for the name of each below its column."""

SPREAD_WIDTH = 6.0
WITHOUT = "without the same kind of throughput"
UNITS_S = (("h", 3600.0), ("min", 60.0))


@dataclass(frozen=True)
class ScaleChart:
    """A column for each number of GPUs, named by `ticks`; `guide` is the height of the target, None without one."""

    key: str
    title: str
    summary: str
    scale: tuple[str, ...]
    columns: tuple[Column, ...]
    ticks: tuple[str, ...]
    legend: tuple[tuple[str, str], ...]
    guide: float | None = None


def scale_charts(scaled: Scaling) -> list[ScaleChart]:
    """Nothing where only one number of GPUs was tried: a single column compares nothing.

    Of runs that did different work the run times alone are drawn: their efficiency means nothing.
    """
    if scaled.too_fast:
        return [_run_time(scaled)]
    return [_run_time(scaled), _efficiency(scaled)] if scaled.knee else []


def left_out(scaled: Scaling) -> list[str]:
    """The runs that do not count, in words."""
    least_s = LIMITS.trial_min_s if scaled.is_trials else LIMITS.short_job_s
    counted_out = (
        (scaled.unfinished, "that did not complete"),
        (
            scaled.too_short,
            WITHOUT if scaled.unit else f"below {counted(round(least_s / 60), 'minute')} or of unknown size",
        ),
        (scaled.on_other_hardware, "on other hardware than the latest"),
        (scaled.trials_beside, "as a trial, which is compared with other trials only"),
    )
    return [f"{counted(runs, 'run')} {why}" for runs, why in counted_out if runs]


def cut_trials(scaled: Scaling) -> list[str]:
    """The use of trials that reached their limit, which have no run time, in words."""
    return [f"{counted(gpus, 'GPU')} {percent(use)}" for gpus, _, use in scaled.cut_trials if use is not None]


def _ticks(scaled: Scaling) -> tuple[str, ...]:
    counts = scaled.counts if len(scaled.counts) <= TICKS_MAX else (scaled.counts[0], scaled.counts[-1])
    return tuple(counted(count.gpus, "GPU") for count in counts)


def _run_time(scaled: Scaling) -> ScaleChart:
    longest_s = max(count.slowest_s for count in scaled.counts)
    name, unit_s = UNITS_S[0] if longest_s >= UNITS_S[0][1] else UNITS_S[1]
    top = nice_top(longest_s / unit_s)
    texts = [_time_text(count) for count in scaled.counts]
    drawn = columns([[("count", count.typical_s / unit_s)] for count in scaled.counts], texts, top)
    return ScaleChart(
        key="scale-time",
        title="Run time",
        summary="Columns: the median run time on each number of GPUs, with the fastest and the slowest run.",
        scale=scale(top, f" {name}"),
        columns=tuple(
            _with_spread(column, count, top * unit_s) for column, count in zip(drawn, scaled.counts, strict=True)
        ),
        ticks=_ticks(scaled),
        legend=(("count", "Median"), ("spread", "Fastest to slowest")),
    )


def _time_text(count: GpuCount) -> str:
    spread = f", {duration(count.fastest_s)} to {duration(count.slowest_s)}" if count.runs > 1 else ""
    return f"{counted(count.gpus, 'GPU')}: {duration(count.typical_s)} ({counted(count.runs, 'run')}{spread})"


def _with_spread(column: Column, count: GpuCount, top_s: float) -> Column:
    """The column with a thin one from the fastest to the slowest run over it, where there are several."""
    if count.runs < 2:
        return column
    high, low = (HEIGHT * (1 - time_s / top_s) for time_s in (count.slowest_s, count.fastest_s))
    left = column.x + (column.width - SPREAD_WIDTH) / 2
    spread = Rect(round(left, 1), round(high, 2), SPREAD_WIDTH, round(max(low - high, 1.0), 2), "spread")
    return Column(column.x, column.width, (*column.parts, spread), column.text)


def _efficiency(scaled: Scaling) -> ScaleChart:
    percents = [100 * (count.efficiency_fraction or 0.0) for count in scaled.counts]
    top = max(nice_top(max(percents)), 100.0)
    knee = scaled.knee.gpus if scaled.knee else 0
    texts = [
        f"{counted(count.gpus, 'GPU')}: {percent:.0f} % of the speed per GPU of {counted(scaled.smallest.gpus, 'GPU')}"
        for count, percent in zip(scaled.counts, percents, strict=True)
    ]
    return ScaleChart(
        key="scale-efficiency",
        title="Efficiency",
        summary=f"Columns: the speed per GPU against {counted(scaled.smallest.gpus, 'GPU')}, with the target of"
        f" {LIMITS.target_percent:.0f} %.",
        scale=scale(top, " %"),
        columns=columns(
            [
                [("count" if count.gpus <= knee else "beyond", percent)]
                for count, percent in zip(scaled.counts, percents, strict=True)
            ],
            texts,
            top,
        ),
        ticks=_ticks(scaled),
        legend=(
            ("count", f"Up to the knee, {counted(knee, 'GPU')}"),
            *([("beyond", "Beyond it")] if scaled.counts[-1].gpus > knee else []),
            ("guide", f"Target, {LIMITS.target_percent:.0f} %"),
        ),
        guide=round(HEIGHT * (1 - LIMITS.target_percent / top), 1),
    )
