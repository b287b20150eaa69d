"""A request and its suggestion within what a partition allows: nothing is suggested that Slurm would refuse."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from analysis.check.asked import Asked, Fit, asked, fit, own_fit
from analysis.check.earlier import REFUSED
from analysis.check.suggestion import Suggestion
from analysis.comparable import limit_with_headroom_s
from jobs.hardware import Partition, clusters, threads_per_core
from jobs.sbatch import READING_ORDER, OptionChange, apply, changes_to, parse_block, walltime_text


@dataclass(frozen=True)
class Within:
    """The request as a partition accepts it; `obstacle` is what its own partition refuses, None where it accepts it.

    `request` is None where no change of the time limit or the partition makes it acceptable.
    """

    request: Asked | None
    obstacle: Fit | None


def within(request: Asked, times_s: Sequence[float]) -> Within:
    """The request with a limit that its partition allows, or in another partition with the same nodes.

    `times_s` are the run times of earlier runs of this size: where they fit into the partition, the limit is cut.

    >>> long = asked("lumi", {"--partition": "small-g", "--gpus": "8", "--time": "5-00:00:00"})
    >>> within(long, ()).request.options["--time"]
    '3-00:00:00'
    >>> day = asked("lumi", {"--partition": "dev-g", "--gpus": "8", "--time": "1-00:00:00"})
    >>> within(day, ()).request.options["--partition"]
    'small-g'
    """
    if request.partition is None or request.shape is None:
        return Within(request, None)
    own = own_fit(request)
    if own is None or not own.why_not:
        return Within(request, None)
    needed_s = limit_with_headroom_s(max(times_s)) if times_s else _limit_s(request)
    if own.why_not == "walltime":
        if needed_s <= (request.partition.walltime_max_s or math.inf):
            return Within(_with_limit(request, request.partition), own)
        return Within(_moved(request, needed_s) or _with_limit(request, request.partition), own)
    if own.why_not == "nodes":
        return Within(_moved(request, 0.0 if math.isinf(needed_s) else needed_s), own)
    return Within(None, own)


def accepted(request: Asked, base: Within, given: Suggestion | None, why: str) -> tuple[Suggestion | None, str]:
    """A suggestion for `base.request` as changes of the request itself, within what its partition allows.

    Without one it is the change that the partition needs to accept the request.
    """
    if base.request is None:
        return None, REFUSED
    if given is None:
        return (_only_accepted(request, base.request), "") if base.obstacle else (None, why)
    options = parse_block(given.block) if given.block else apply(base.request.options, given.changes)
    wanted, place = given.wanted, own_fit(asked(request.cluster, options))
    if place is not None and place.why_not == "nodes":
        return None, REFUSED
    if place is not None and place.why_not == "walltime" and place.partition.walltime_max_s:
        wanted = replace(wanted, walltime_s=place.partition.walltime_max_s)
        options = {**options, "--time": walltime_text(place.partition.walltime_max_s)}
    if given.block:
        block = given.block if wanted == given.wanted else _block_with_limit(given.block, options["--time"])
        return replace(given, block=block, wanted=wanted), ""
    return replace(given, changes=_changes(request.options, options), wanted=wanted), ""


def _limit_s(request: Asked) -> float:
    """The requested limit; infinite where there is none."""
    return math.inf if request.is_unlimited else (request.shape.walltime_s if request.shape else None) or 0.0


def _with_limit(request: Asked, partition: Partition) -> Asked | None:
    """The request with the longest limit that its partition allows."""
    if partition.walltime_max_s is None:
        return None
    cut = asked(request.cluster, {**request.options, "--time": walltime_text(partition.walltime_max_s)})
    return cut if cut.shape is not None and not fit(cut, partition).why_not else None


def _moved(request: Asked, needed_s: float) -> Asked | None:
    """The request in another partition with the same nodes that allows it for as long as needed.

    One that bills as its own does, whole nodes or parts of them, comes first.
    """
    shape, own, known = request.shape, request.partition, clusters().get(request.cluster)
    if shape is None or own is None or known is None:
        return None
    for other in sorted(known.partitions.values(), key=lambda each: each.is_exclusive != own.is_exclusive):
        most_s = other.walltime_max_s or math.inf
        if other is own or other.node != own.node or most_s < needed_s:
            continue
        limit_s = min(_limit_s(request), most_s)
        wanted = replace(shape, partition=other.name, walltime_s=limit_s if 0 < limit_s < math.inf else None)
        changes = changes_to(request.options, shape, wanted, own, other, threads_per_core(request.cluster))
        moved = asked(request.cluster, apply(request.options, changes)) if changes else None
        if moved is not None and moved.shape is not None and not fit(moved, other).why_not:
            return moved
    return None


def _only_accepted(request: Asked, base: Asked) -> Suggestion | None:
    """The change that makes a request acceptable, which rests on no earlier run."""
    if base.shape is None:
        return None
    changes = _changes(request.options, base.options)
    return Suggestion(changes, (), base.shape, (), None, None, 0, None, None)


def _changes(before: Mapping[str, str], after: Mapping[str, str]) -> tuple[OptionChange, ...]:
    """The options that differ, in the order in which a request reads best."""
    return tuple(
        OptionChange(option, before.get(option, ""), after.get(option, ""))
        for option in READING_ORDER
        if before.get(option) != after.get(option)
    )


def _block_with_limit(block: Sequence[str], limit: str) -> tuple[str, ...]:
    return tuple(f"--time={limit}" if line.startswith("--time=") else line for line in block)
