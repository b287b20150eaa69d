"""What is expected of the next run of a work for one request: run time, cost, GPUs and host memory, from its runs.

Earlier runs are those that completed and count, of a year. The cost is the run time at the price of the request: it is
not predicted apart from it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

from analysis.predictions.choosing import PREDICTORS, Made, made, tried
from analysis.predictions.protocol import Observed, Predicted, Request
from analysis.predictions.quantities import Method, Quantity
from analysis.works.best_request import needed_gpus
from analysis.works.runs import PastRun
from jobs.hardware import partition_of

HOUR_S = 3600.0

OF_RUN_TIME = frozenset({Quantity.RUN_S, Quantity.GPU_HOURS})
"""A method that misses its promise for one of these misses it for both: the cost follows from the run time."""

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
    if described is None:
        return f"{cluster} {partition}"
    node = described.node
    return f"{cluster}: {node.gpus} {node.gpu_name} of {node.gpu_memory_gb:g} GB, {node.cores} cores"


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
    times = made(observed[Quantity.RUN_S], asked, {method for method, of in missing if of in OF_RUN_TIME})
    found = [Expected(Quantity.RUN_S, tuple(times))]
    if gpu_hours_per_hour:
        cost = (replace(each, predicted=_times(each.predicted, gpu_hours_per_hour / HOUR_S)) for each in times)
        found.append(Expected(Quantity.GPU_HOURS, tuple(cost)))
    found += [
        _by_ranks(observed[quantity], asked, quantity, missing) for quantity in (Quantity.GPUS, Quantity.MEMORY_GB)
    ]
    return [each for each in found if each.methods]


def _observed(runs: Sequence[PastRun], quantity: Quantity) -> list[Observed]:
    return [
        Observed(request_of(run), value) for run in runs if run.gpus and (value := value_of(run, quantity)) is not None
    ]


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
