"""What a run of one work is typically like: use, cores, memory and run time with their spread, and what limits it."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median, quantiles

from analysis.comparable import known_median
from analysis.thresholds import LIMITS
from analysis.works.best_request import is_without_gpu_use
from analysis.works.runs import CANCELLED, PastRun
from jobs.records import SYSTEM_FAILURES

QUARTILES_MIN = 4
"""Of fewer runs no middle half is stated."""

KIND_SHARE_MIN = 0.5
"""A work is of the kind that more than half of its measured runs are of."""

WAITING_HOST_FRACTION_MAX = LIMITS.quiet_host_fraction
"""GPUs that are little used wait for something else than the host where it is less busy than this."""


class WorkloadKind(StrEnum):
    """What limits a run, as far as it was measured."""

    GPU = "gpu"
    CPU = "cpu"
    MEMORY = "memory"
    IO = "io"
    WAITING = "waiting"


@dataclass(frozen=True)
class Spread:
    """The median of `runs` measured runs, and the quartiles around it; None of fewer than `QUARTILES_MIN`."""

    name: str
    runs: int
    median: float
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class KindOfWork:
    """`kind` is None where no kind has more than half of the `measured` runs; `runs` are those of the kind.

    The fractions are medians of all measured runs, 0..1, None where not measured.
    """

    kind: WorkloadKind | None
    runs: int
    measured: int
    gpu_fraction: float | None
    cores_fraction: float | None
    io_fraction: float | None
    spinning_runs: int
    memory_runs: int


@dataclass(frozen=True)
class Patterns:
    """The typical run, from the completed and counted ones; `completed` of `decided` runs ran to their end.

    Cancelled runs and those that the system ended decide nothing.
    """

    spreads: tuple[Spread, ...]
    kind: KindOfWork | None
    completed: int
    decided: int
    cancelled: int
    ended_by_system: int

    @property
    def success_fraction(self) -> float | None:
        return self.completed / self.decided if self.decided else None


MEASURES: tuple[tuple[str, Callable[[PastRun], float | None]], ...] = (
    ("gpu_use", lambda run: run.avg_gpu_util),
    ("gpu_memory", lambda run: run.peak_gpu_mem_gb),
    ("cores", lambda run: run.busy_cores),
    ("host_memory", lambda run: run.host_peak_gb),
    ("run_time", lambda run: run.elapsed_s),
)


def patterns(runs: Sequence[PastRun]) -> Patterns:
    """The patterns of the runs of one work."""
    typical = typical_runs(runs)
    completed = sum(run.is_completed for run in runs)
    return Patterns(
        spreads=tuple(
            found for name, of in MEASURES if (found := spread(name, [of(run) for run in typical])) is not None
        ),
        kind=_kind_of_work([run for run in runs if run.is_judged and not run.uncounted_reason]),
        completed=completed,
        decided=completed + sum(run.is_own_failure for run in runs),
        cancelled=sum(run.state == CANCELLED for run in runs),
        ended_by_system=sum(run.state in SYSTEM_FAILURES for run in runs),
    )


def typical_runs(runs: Iterable[PastRun]) -> list[PastRun]:
    """The runs that show what the work is like: completed and counted."""
    return [run for run in runs if run.is_comparable and not run.uncounted_reason]


def spread(name: str, values: Sequence[float | None]) -> Spread | None:
    """Median and quartiles of the measured ones; None where none was.

    >>> spread("run_time", [10.0, 20.0, 30.0, 40.0, 50.0, None])
    Spread(name='run_time', runs=5, median=30.0, low=20.0, high=40.0)
    """
    known = [value for value in values if value is not None]
    if not known:
        return None
    if len(known) < QUARTILES_MIN:
        return Spread(name, len(known), median(known))
    low, middle, high = quantiles(known, n=4, method="inclusive")
    return Spread(name, len(known), middle, low, high)


def workload_kind(run: PastRun) -> WorkloadKind | None:
    """What limits one run; None where its use was not measured, or nothing is clear.

    Memory is its capacity: that it filled up. The cores limit a run where its report found so: busy cores alone are
    also how ranks wait for GPUs.
    """
    codes, use = frozenset(run.finding_codes.split()), run.avg_gpu_util
    io_fraction = run.io_wait_fraction or 0.0
    if codes & {"gpu_out_of_memory", "host_out_of_memory", "gpu_memory_pressure"}:
        return WorkloadKind.MEMORY
    if use is None:
        return None
    if use >= LIMITS.efficient_percent:
        return WorkloadKind.WAITING if "busy_but_waiting" in codes else WorkloadKind.GPU
    stalls = "io_or_sync_stall" in codes and io_fraction >= LIMITS.io_wait_fraction
    if io_fraction >= LIMITS.io_bound_fraction or stalls:
        return WorkloadKind.IO
    if "cpu_bottleneck" in codes:
        return WorkloadKind.CPU
    busy = cores_fraction(run)
    is_waiting = use < LIMITS.low_use_percent and busy is not None and busy < WAITING_HOST_FRACTION_MAX
    return WorkloadKind.WAITING if is_waiting else None


def cores_fraction(run: PastRun) -> float | None:
    """The busy share of the allocated cores, 0..1; None where not measured."""
    return min(run.busy_cores / run.cores, 1.0) if run.busy_cores is not None and run.cores else None


def _kind_of_work(judged: Sequence[PastRun]) -> KindOfWork | None:
    measured = [run for run in judged if run.avg_gpu_util is not None]
    if not measured:
        return None
    kinds = Counter(workload_kind(run) for run in measured)
    kind, runs = kinds.most_common(1)[0]
    if runs <= KIND_SHARE_MIN * len(measured):
        kind = None
    return KindOfWork(
        kind=kind,
        runs=runs if kind else 0,
        measured=len(measured),
        gpu_fraction=known_median(run.avg_gpu_util and run.avg_gpu_util / 100 for run in measured),
        cores_fraction=known_median(cores_fraction(run) for run in measured),
        io_fraction=known_median(run.io_wait_fraction for run in measured),
        spinning_runs=sum("busy_but_waiting" in run.finding_codes.split() for run in measured),
        memory_runs=kinds[WorkloadKind.MEMORY],
    )


@dataclass(frozen=True)
class WithoutUse:
    """`runs` of `of` counted runs used no GPU and were billed `gpu_hours`; `is_over` where the latest used its GPUs."""

    runs: int
    of: int
    gpu_hours: float
    is_over: bool


def without_use(latest_first: Sequence[PastRun]) -> WithoutUse | None:
    """The runs without any GPU use among the judged, counted ones; None where every one used its GPUs."""
    counted = [run for run in latest_first if run.is_judged and not run.uncounted_reason and run.gpus]
    idle = [run for run in counted if is_without_gpu_use(run)]
    if not idle:
        return None
    hours = sum(run.gpu_hours or 0.0 for run in idle)
    return WithoutUse(len(idle), len(counted), hours, is_over=not is_without_gpu_use(counted[0]))
