"""The best known request of a work: of those that ran to their end, the one that bills the fewest GPU-hours a run."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from analysis.findings import FindingCode
from analysis.works.runs import PastRun
from jobs.sbatch import OptionChange, Shape, apply, parse_block, request_block
from jobs.sbatch_values import gpu_options

SUCCESS_MIN = 0.5
"""A request that failed more often than it ran to its end is not recommended, however little it bills."""

NO_GPU_USE = FindingCode.NO_GPU_USE.value
Options = tuple[str, ...]


@dataclass(frozen=True)
class BestRequest:
    """The latest run of the cheapest request; `gpu_hours` is the median of its `completed` runs.

    `requests` is how many different requests qualified, `without_gpu_use` the completed runs that were left out because
    they used no GPU. Whether options were written in another way, and their time
    limit, make no other request: what was allocated does.
    """

    run: PastRun
    gpu_hours: float
    completed: int
    requests: int
    without_gpu_use: int = 0


def best_request(runs: Iterable[PastRun]) -> BestRequest | None:
    """The cheapest request of those that at least half of their runs completed with; None where none is known.

    What completed without any GPU use shows no request that works, as long as another run of the work used its GPUs.
    """
    every = list(runs)
    shown = [run for run in every if not (run.is_comparable and is_without_gpu_use(run))]
    found = _candidates(shown)
    if not found:
        shown, found = every, _candidates(every)
    if not found:
        return None
    hours, run, completed = min(found, key=lambda each: (each[0], -each[1].ended_at.timestamp(), -each[1].pk))
    return BestRequest(run, hours, completed, len(found), len(every) - len(shown))


def _candidates(runs: Sequence[PastRun]) -> list[tuple[float, PastRun, int]]:
    by_shape: dict[object, list[PastRun]] = defaultdict(list)
    for run in runs:
        by_shape[_shape_key(run)].append(run)
    return [best for group in by_shape.values() if (best := _qualified(group)) is not None]


def is_without_gpu_use(run: PastRun) -> bool:
    """Whether its report found that it used none of its GPUs."""
    return NO_GPU_USE in run.finding_codes.split()


def _shape_key(run: PastRun) -> object:
    """What a run was given, whatever options it was requested with."""
    return run.partition, run.nodes, run.gpus, run.ntasks, run.cores, run.memory_gb, run.is_exclusive


def _qualified(runs: Sequence[PastRun]) -> tuple[float, PastRun, int] | None:
    """The median GPU-hours of one request, the latest run that shows it, and how many completed."""
    good = [run for run in runs if run.is_comparable and not run.uncounted_reason and run.gpu_hours is not None]
    failures = sum(run.is_own_failure for run in runs)
    if not good or len(good) < SUCCESS_MIN * (len(good) + failures):
        return None
    hours = median(run.gpu_hours for run in good if run.gpu_hours is not None)
    shown = max(good, key=lambda run: (is_spelling_known(run), run.ended_at, run.pk))
    return hours, shown, len(good)


def is_spelling_known(run: PastRun) -> bool:
    """Whether the options are known that this run was requested with: one about GPUs is among them."""
    return bool(gpu_options(run.request))


def options_of(run: PastRun) -> dict[str, str]:
    """The request of a run: in its own options where they are known, else in plain ones for what it was allocated."""
    if is_spelling_known(run):
        return dict(run.request)
    return allocated_options(run)


def allocated_options(run: PastRun) -> dict[str, str]:
    """What a run was allocated as plain sbatch options, as far as the record knows it."""
    if not run.gpus:
        return {}
    wanted = Shape(
        nodes=run.nodes or 1,
        gpus=run.gpus,
        ntasks=run.ntasks,
        cores=run.cores or None,
        memory_gb=run.memory_gb or None,
        walltime_s=run.walltime_s,
        partition=run.partition,
        is_exclusive=bool(run.is_exclusive),
    )
    return parse_block(request_block(wanted))


def advised(request: Mapping[str, str], advice: Iterable[tuple[Sequence[OptionChange], Options]]) -> dict[str, str]:
    """The request with the advice of a report made: (changes of its lines, or the block to write) of each piece.

    A block that says how many nodes is a whole request; another one only sets its own options.

    >>> advised({"--gpus": "8", "--time": "04:00:00"}, [((OptionChange("--gpus", "8", "2"),), ())])
    {'--gpus': '2', '--time': '04:00:00'}
    >>> advised({"--gpus": "8"}, [((), ("--nodes=1", "--gpus-per-node=2")), ((), ("--time=01:00:00",))])
    {'--nodes': '1', '--gpus-per-node': '2', '--time': '01:00:00'}
    """
    result = dict(request)
    for changes, block in advice:
        given = parse_block(block)
        result = given if "--nodes" in given else result | given
        result = apply(result, changes)
    return result


def was_tried(best: PastRun, runs: Iterable[PastRun]) -> bool:
    """Whether other runs already had the number of GPUs that the report of the best run advises.

    They are not the cheapest then, or failed: the advice was better than nothing, but the measured runs know more.
    """
    advised_gpus = best.recommended_gpus
    if advised_gpus is None or advised_gpus == best.gpus:
        return False
    return any(run.gpus == advised_gpus and (run.is_comparable or run.is_own_failure) for run in runs)


def lines_of(request: Mapping[str, str]) -> Options:
    """The options as they are written.

    >>> lines_of({"--nodes": "1", "--exclusive": ""})
    ('--nodes=1', '--exclusive')
    """
    return tuple(f"{option}={value}" if value else option for option, value in request.items())
