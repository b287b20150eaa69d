"""The earlier runs of the work that a request is for: which count, which had its size, which stands for the next."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from analysis.check.asked import Asked
from analysis.comparable import ComparableRun
from analysis.works.best_request import RECENT_MAX, best_request, like_the_next, size_of
from analysis.works.runs import PastRun
from jobs.hardware import partition_of

YEAR = timedelta(days=365)
"""What ran longer ago may have been another program."""

TIMES_MIN = 3
"""A time limit is suggested from so many run times on: fewer show no spread."""

COMPARED_MAX = 20
"""As many of the last completed runs are compared with, as for a report (`analysis.selectors.COMPARABLE_MAX`)."""

NO_RUNS, NO_PARTITION, OTHER_SIZE, ONLY_FAILED = "no_runs", "no_partition", "other_size", "only_failed"
FITS, FEW_RUNS, REFUSED, NOT_KEPT, TRIED = "fits", "few_runs", "refused", "not_kept", "tried"
"""Why nothing is suggested."""
NO_NAME, OTHER_PROJECT, AS_SUGGESTED, FEW_FIT = "no_name", "other_project", "as_suggested", "few_fit"
UNKNOWN_PARTITION, NO_GPUS = "unknown_partition", "no_gpus"
NEEDS_MORE, DOES_NOT_FIT = "needs_more", "does_not_fit"
"""The same, more precisely (`analysis.check.reasons`)."""


@dataclass(frozen=True)
class Earlier:
    """The counted runs of a year that ran to their end or failed by themselves, the latest first.

    `same_size` are those with as many GPUs and nodes as requested, on the same hardware.
    """

    runs: tuple[PastRun, ...]
    same_size: tuple[PastRun, ...]

    @property
    def completed(self) -> tuple[PastRun, ...]:
        """Those of the same size that ran to their end."""
        return tuple(run for run in self.same_size if run.is_comparable)

    @property
    def times_s(self) -> list[float]:
        """How long these took."""
        return [run.elapsed_s for run in self.completed[:COMPARED_MAX] if run.elapsed_s]


def earlier(runs: Sequence[PastRun], request: Asked, now: datetime) -> Earlier:
    """What counts of the runs of one work, the latest first."""
    counted = tuple(
        run
        for run in runs
        if run.ended_at > now - YEAR
        and run.is_judged
        and not run.uncounted_reason
        and run.gpus
        and (run.is_comparable or run.is_own_failure)
    )
    return Earlier(counted, tuple(run for run in counted if is_same_size(run, request)))


def is_same_size(run: PastRun, request: Asked) -> bool:
    """Whether a run had the GPUs and the nodes of a request, and ran on such nodes."""
    if request.shape is None or run.gpus not in request.allocated_gpus:
        return False
    return (run.nodes or 1) == request.shape.nodes and is_on_such_nodes(run, request)


def is_on_such_nodes(run: PastRun, request: Asked) -> bool:
    """Whether a run had nodes as they are in the partition of a request."""
    described = partition_of(run.cluster, run.partition)
    return described is not None and request.partition is not None and described.node == request.partition.node


def stands_for(found: Earlier, request: Asked) -> tuple[PastRun | None, str]:
    """The run that the next one will probably be like, or why there is none.

    The latest one if it failed for lack of what is not requested any more than then. Otherwise the one from which the
    request of a work follows too (`analysis.works.best_request`).
    """
    if request.refused:
        return None, REFUSED
    if not found.runs:
        return None, NO_RUNS
    if not request.is_known:
        return None, NO_PARTITION if request.partition is None else DOES_NOT_FIT
    if not found.same_size:
        return None, OTHER_SIZE
    latest = found.same_size[0]
    if _lacks_the_same(latest, request):
        return latest, ""
    if not found.completed:
        return None, ONLY_FAILED
    like, best = like_the_next(found.completed), best_request(found.runs)
    is_tried = best is not None and best.was_tried and size_of(best.run) == size_of(like)
    return (None, TRIED) if is_tried else (like, "")


def _lacks_the_same(run: PastRun, request: Asked) -> bool:
    """Whether a run ended for lack of memory or time, and the request has no more of it."""
    shape = request.shape
    if shape is None:
        return False
    if run.state == "OUT_OF_MEMORY":
        return shape.memory_gb is not None and shape.memory_gb <= (run.memory_gb or 0.0)
    return run.state == "TIMEOUT" and (shape.walltime_s or 0.0) <= (run.walltime_s or 0.0)


def compared(found: Earlier, but: PastRun) -> tuple[ComparableRun, ...]:
    """The last completed runs of any size as a report compares with them, without one."""
    completed = [run for run in found.runs if run.is_comparable]
    recent = [run for run in completed if run.gpus == but.gpus][:RECENT_MAX]
    last = [run for run in completed if run.pk != but.pk][:COMPARED_MAX]
    return tuple(
        ComparableRun(
            run.gpus or 0,
            run.elapsed_s or 0.0,
            None if run.host_peak_gb is None else run.host_peak_gb / (run.nodes or 1),
            # As for GPUs, the last few show how many cores the next run needs.
            run.busy_cores if run in recent else None,
        )
        for run in last
    )
