"""What is expected of the next run of a work for one request: run time, cost, GPUs and host memory, from its runs.

Earlier runs are those that completed and count, of a year. The cost is the run time at the price of the request: it is
not predicted apart from it.
"""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from analysis.predictions.choosing import PREDICTORS, Made, OfSite, made, made_by
from analysis.predictions.protocol import Observed, Predicted, Request
from analysis.predictions.quantities import Method, Quantity
from analysis.predictions.widening import Factors
from analysis.works.best_request import needed_gpus
from analysis.works.runs import PastRun
from jobs.hardware import partition_of

HOUR_S = 3600.0

OF_RUN_TIME = frozenset({Quantity.RUN_S, Quantity.GPU_HOURS})
"""A method that misses its promise for one of these misses it for both: the cost follows from the run time."""


@dataclass(frozen=True)
class Known:
    """What the last calibration showed: the methods that miss their promise for a quantity, and factors of ranges."""

    missing: Collection[tuple[Method, Quantity]] = frozenset()
    factors: Mapping[tuple[Method, Quantity], Factors] = field(default_factory=dict)

    def of(self, quantity: Quantity) -> OfSite:
        """For one quantity; what holds for the run time holds for the cost."""
        marked = OF_RUN_TIME if quantity in OF_RUN_TIME else {quantity}
        return OfSite(
            {method for method, of in self.missing if of in marked},
            {method: factors for (method, of), factors in self.factors.items() if of is quantity},
        )


NOTHING_KNOWN = Known()


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
    runs: Iterable[PastRun], asked: Request, gpu_hours_per_hour: float | None, known: Known = NOTHING_KNOWN
) -> list[Expected]:
    """The quantities of which enough runs show something, for this request; without a price no cost."""
    true = sorted(filter(is_true, runs), key=lambda run: (run.ended_at, run.pk))
    observed = {quantity: _observed(true, quantity) for quantity in (Quantity.RUN_S, Quantity.GPUS, Quantity.MEMORY_GB)}
    times = made(observed[Quantity.RUN_S], asked, known.of(Quantity.RUN_S))
    found = [Expected(Quantity.RUN_S, tuple(times))]
    if gpu_hours_per_hour:
        cost = (replace(each, predicted=_times(each.predicted, gpu_hours_per_hour / HOUR_S)) for each in times)
        found.append(Expected(Quantity.GPU_HOURS, tuple(cost)))
    found += [_by_ranks(observed[quantity], asked, quantity, known) for quantity in (Quantity.GPUS, Quantity.MEMORY_GB)]
    return [each for each in found if each.methods]


def _observed(runs: Sequence[PastRun], quantity: Quantity) -> list[Observed]:
    return [
        Observed(request_of(run), value) for run in runs if run.gpus and (value := value_of(run, quantity)) is not None
    ]


def _by_ranks(earlier: Sequence[Observed], asked: Request, quantity: Quantity, known: Known) -> Expected:
    """By the first predictor alone: neither grows along a line with what is requested."""
    found = made_by(PREDICTORS[0], earlier, asked, known.of(quantity))
    if found is None:
        return Expected(quantity, ())
    if quantity is Quantity.GPUS:
        found = replace(found, predicted=_whole(found.predicted))
    return Expected(quantity, (found,))


def _whole(value: Predicted) -> Predicted:
    """The range in whole GPUs, outwards, from one on.

    >>> _whole(Predicted(low=0.6, typical=2.0, high=4.4, promised_fraction=0.8, runs=9))
    Predicted(low=1.0, typical=2.0, high=5.0, promised_fraction=0.8, runs=9)
    """
    return replace(value, low=float(max(math.floor(value.low), 1)), high=float(math.ceil(value.high)))


def _times(value: Predicted, factor: float) -> Predicted:
    return replace(value, low=value.low * factor, typical=value.typical * factor, high=value.high * factor)
