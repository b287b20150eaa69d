"""What is expected of the next run of a work for one request: run time, cost, GPUs and host memory, from its runs.

Earlier runs are those that completed and count, of a year. The cost is the run time at the price of the request: it is
not predicted apart from it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.predictions.choosing import PREDICTORS, Made, made, tried
from analysis.predictions.protocol import Observed, Predicted, Request
from analysis.predictions.quantities import Method, Quantity
from analysis.works.best_request import needed_gpus
from analysis.works.runs import PastRun
from jobs.hardware import partition_of

HOUR_S = 3600.0
Missing = Collection[tuple[Method, Quantity]]
"""The methods that miss their promise for a quantity (`calibration.misses_promise`)."""


@dataclass(frozen=True)
class Expected:
    """One quantity: what each method predicts, the chosen one first."""

    quantity: Quantity
    methods: tuple[Made, ...]


def hardware_of(cluster: str, partition: str) -> str:
    """The kind of node that a partition has, as runs are compared; its own name where it is not described."""
    described = partition_of(cluster, partition)
    return f"{cluster} {described.node}" if described else f"{cluster} {partition}"


def request_of(run: PastRun) -> Request:
    """What a run was allocated, as it is compared."""
    return Request(
        hardware_of(run.cluster, run.partition), run.nodes or 1, run.gpus or 0, run.cores or None, run.walltime_s
    )


def is_true(run: PastRun) -> bool:
    """Whether it shows what such a run takes: completed, judged, counted, and with Slurm's own record."""
    return run.is_comparable and run.is_judged and not run.uncounted_reason and not run.is_told_by_owner


def value_of(run: PastRun, quantity: Quantity) -> float | None:
    """What a run took of one quantity; None where that is not known, or is nothing."""
    match quantity:
        case Quantity.RUN_S:
            value = run.elapsed_s
        case Quantity.GPU_HOURS:
            value = run.gpu_hours
        case Quantity.MEMORY_GB:
            value = run.host_peak_gb
        case Quantity.GPUS:
            # Without measured use the report cannot suggest fewer.
            value = None if run.avg_gpu_util is None else float(needed_gpus(run))
        case _:
            value = None
    return value if value is not None and value > 0 else None


def expected(
    runs: Iterable[PastRun], asked: Request, gpu_hours_per_hour: float | None, missing: Missing = ()
) -> list[Expected]:
    """The quantities of which enough runs show something, for this request; without a price no cost."""
    true = sorted(filter(is_true, runs), key=lambda run: (run.ended_at, run.pk))
    observed = {quantity: _observed(true, quantity) for quantity in (Quantity.RUN_S, Quantity.GPUS, Quantity.MEMORY_GB)}
    found = [_timed(observed[Quantity.RUN_S], asked, Quantity.RUN_S, lambda value: value, missing)]
    if gpu_hours_per_hour:
        per_s = gpu_hours_per_hour / HOUR_S
        found.append(
            _timed(observed[Quantity.RUN_S], asked, Quantity.GPU_HOURS, lambda value: _times(value, per_s), missing)
        )
    found += [
        _by_ranks(observed[quantity], asked, quantity, missing) for quantity in (Quantity.GPUS, Quantity.MEMORY_GB)
    ]
    return [each for each in found if each.methods]


def _observed(runs: Sequence[PastRun], quantity: Quantity) -> list[Observed]:
    return [
        Observed(request_of(run), value) for run in runs if run.gpus and (value := value_of(run, quantity)) is not None
    ]


def _timed(
    earlier: Sequence[Observed],
    asked: Request,
    quantity: Quantity,
    scaled: Callable[[Predicted], Predicted],
    missing: Missing,
) -> Expected:
    found = made(earlier, asked, {method for method, of in missing if of is quantity})
    return Expected(quantity, tuple(replace(each, predicted=scaled(each.predicted)) for each in found))


def _by_ranks(earlier: Sequence[Observed], asked: Request, quantity: Quantity, missing: Missing) -> Expected:
    """By the first predictor alone: neither grows along a line with what is requested."""
    ranks = PREDICTORS[0]
    value = ranks.predicted(earlier, asked)
    if value is None:
        return Expected(quantity, ())
    has_range = (ranks.method, quantity) not in missing
    return Expected(quantity, (Made(ranks.method, value, tried(ranks, earlier, asked), has_range),))


def _times(value: Predicted, factor: float) -> Predicted:
    return replace(value, low=value.low * factor, typical=value.typical * factor, high=value.high * factor)
