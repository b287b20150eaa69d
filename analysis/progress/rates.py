"""How fast a run got on: steps and samples per second, per GPU and per GPU-hour, with and without its pauses; pure.

Everything is of one stretch of time, the run within one job: a run that was resumed has one for each of its jobs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from analysis.progress.counter import Counter, counter_of, step_counter
from analysis.progress.names import Batch, Unit, batch_of, is_of_evaluation, is_per_gpu, rate_unit, seen_unit
from jobs.experiments.points import Floats, Points, Series

STRETCHES_MIN = 3
"""So many stretches between logged steps show a usual rate; fewer only the mean of the whole."""

PAUSE_FACTOR = 2.0
"""A stretch with so many times the usual seconds a step holds a pause, or is the start-up."""

STEADY_TIME_MIN = 0.2
"""The usual rate counts only if it covers this share of the time: points that were collected and logged at once show
many steps in no time."""

SAMPLE_UNITS = (Unit.SAMPLES, Unit.IMAGES, Unit.SEQUENCES, Unit.FRAMES, Unit.TOKENS)


@dataclass(frozen=True)
class Stretch:
    """The time of a run within one job, in Unix ms, and what it was allocated.

    `gpu_hours_an_hour` is what one hour of the job is billed (`jobs.billing`); None where there is no price, or where
    runs shared the job at the same time, so that its hours are not those of one run.
    """

    start_ms: int
    end_ms: int
    gpus: int | None = None
    gpu_hours_an_hour: float | None = None

    @property
    def hours(self) -> float:
        return max(self.end_ms - self.start_ms, 0) / 3_600_000


@dataclass(frozen=True)
class Throughput:
    """Progress per second in one unit.

    `steady_per_s` is the median without pauses and start-up, `overall_per_s` from the first logged step to the last,
    pauses included; each None where it is not known.
    """

    unit: Unit
    steady_per_s: float | None
    overall_per_s: float | None
    gpus: int | None = None
    gpu_hours_an_hour: float | None = None

    @property
    def per_s(self) -> float | None:
        """The steady rate, else that of the whole."""
        return self.steady_per_s if self.steady_per_s is not None else self.overall_per_s

    @property
    def per_gpu_s(self) -> float | None:
        """A second, for each allocated GPU."""
        return self.per_s / self.gpus if self.per_s is not None and self.gpus else None

    @property
    def per_gpu_hour(self) -> float | None:
        """For each billed GPU-hour, pauses included where they are known."""
        per_s = self.overall_per_s if self.overall_per_s is not None else self.steady_per_s
        if per_s is None or not self.gpu_hours_an_hour:
            return None
        return per_s * 3600 / self.gpu_hours_an_hour

    @property
    def gpu_hours_per_1000(self) -> float | None:
        """Billed GPU-hours for each 1,000."""
        per_gpu_hour = self.per_gpu_hour
        return 1000 / per_gpu_hour if per_gpu_hour else None


@dataclass(frozen=True)
class Rates:
    """How fast one run got on in one job: its steps, and samples where a metric or the batch size shows them.

    `counter` is the metric that the steps are read from, `samples_from` the metric of the samples, empty where they
    follow from the batch size; `batch` is what the parameters state. `start_up_s` is the time until the first logged
    step.
    """

    counter: str
    first_count: float
    last_count: float
    start_up_s: float
    steps: Throughput
    samples: Throughput | None
    samples_from: str
    batch: Batch | None


def rates_of(series: Mapping[str, Series], params: Mapping[str, str], stretch: Stretch) -> Rates | None:
    """How fast a run got on within this time; None where its script logged no steps then.

    >>> times_ms = np.arange(11) * 10_000
    >>> loss = Points(np.arange(11) * 50, times_ms, np.ones(11))
    >>> from jobs.experiments.points import merged
    >>> found = rates_of({"loss": merged(None, loss)}, {"global_batch_size": "64"}, Stretch(0, 100_000, 8, 4.0))
    >>> found.steps.steady_per_s, found.samples.steady_per_s, found.samples.per_gpu_s
    (5.0, 320.0, 40.0)
    >>> round(found.steps.gpu_hours_per_1000, 3)
    0.222
    """
    within = {name: part for name, one in series.items() if len((part := between(one, stretch)).points)}
    counter = step_counter(within)
    if counter is None:
        return None
    steps = _throughput(counter, stretch)
    batch = batch_of(params, stretch.gpus)
    samples, name = _samples(within, stretch)
    if samples is None and batch is not None and batch.is_global and counter.unit is Unit.STEPS:
        samples = _times(steps, batch.size)
    return Rates(
        counter=counter.name,
        first_count=float(counter.counts[0]),
        last_count=float(counter.counts[-1]),
        start_up_s=max(int(counter.times_ms[0]) - stretch.start_ms, 0) / 1000,
        steps=steps,
        samples=samples,
        samples_from=name,
        batch=batch,
    )


def between(series: Series, stretch: Stretch) -> Series:
    """The kept points of a metric within this time."""
    times_ms = series.points.times_ms
    is_in = (times_ms >= stretch.start_ms) & (times_ms <= stretch.end_ms)
    return replace(series, points=series.points.taken(is_in))


def seconds_a_count(counter: Counter) -> float | None:
    """The usual seconds for one count, the median weighted by counts; None where too little was logged to tell."""
    seconds, counts = counter.moved
    if seconds.size < STRETCHES_MIN:
        return None
    usual_s = _median(seconds / counts, counts)
    is_steady = seconds <= PAUSE_FACTOR * usual_s * counts
    if float(np.sum(seconds[is_steady])) < STEADY_TIME_MIN * float(np.sum(seconds)):
        return None
    return _median(seconds[is_steady] / counts[is_steady], counts[is_steady])


def _throughput(counter: Counter, stretch: Stretch) -> Throughput:
    usual_s = seconds_a_count(counter)
    seconds = (int(counter.times_ms[-1]) - int(counter.times_ms[0])) / 1000
    _, counts = counter.moved
    overall = float(np.sum(counts)) / seconds if seconds > 0 and counts.size else None
    return Throughput(
        unit=counter.unit,
        steady_per_s=None if usual_s is None else 1 / usual_s,
        overall_per_s=overall,
        gpus=stretch.gpus,
        gpu_hours_an_hour=stretch.gpu_hours_an_hour,
    )


def _samples(series: Mapping[str, Series], stretch: Stretch) -> tuple[Throughput | None, str]:
    """Samples or tokens per second, and the metric that shows them: one that counts, else one that states a rate."""
    for unit in SAMPLE_UNITS:
        for name, one in sorted(series.items()):
            if seen_unit(name) is unit:
                found = _throughput(counter_of(name, unit, one.points, one.points.values), stretch)
                if found.per_s is not None:
                    return found, name
    for unit in SAMPLE_UNITS:
        for name, one in sorted(series.items()):
            if rate_unit(name) is unit and not is_of_evaluation(name):
                per_s = _stated_rate(name, one.points, stretch.gpus)
                if per_s is not None:
                    return Throughput(unit, per_s, None, stretch.gpus, stretch.gpu_hours_an_hour), name
    return None, ""


def _stated_rate(name: str, points: Points, gpus: int | None) -> float | None:
    """The median of a rate that a script states, of all GPUs; None where it states that of one and their number is not
    known."""
    values = points.values[np.isfinite(points.values) & (points.values > 0)]
    if not values.size or (is_per_gpu(name) and not gpus):
        return None
    return float(np.median(values)) * (gpus or 1 if is_per_gpu(name) else 1)


def _times(steps: Throughput, batch: int) -> Throughput:
    """Samples, from steps of a known batch."""
    steady, overall = steps.steady_per_s, steps.overall_per_s
    return replace(
        steps,
        unit=Unit.SAMPLES,
        steady_per_s=None if steady is None else steady * batch,
        overall_per_s=None if overall is None else overall * batch,
    )


def _median(values: Floats, weights: Floats) -> float:
    """The median, weighted."""
    order = np.argsort(values)
    sums = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(sums, sums[-1] / 2)])
