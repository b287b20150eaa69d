"""The request of a work: what every page, call and command names for its next run, and the run that shows it.

Of the sizes (nodes, GPUs and kind of node) that completed, the one that was billed the fewest GPU-hours a run, or the
latest where they did different work. Of its last completed runs the latest of those that needed the most GPUs, by their
reports, stands for the next run: its own request, with what its report suggests, is the request of the work.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median

from analysis.comparable import SAME_WORK_MAX, ComparableRun, limit_with_headroom_s, speed_kept, typical_times_s
from analysis.findings import FindingCode
from analysis.host_share import cores_for
from analysis.thresholds import LIMITS
from analysis.works.runs import PastRun
from jobs.hardware import partition_of, threads_per_core
from jobs.sbatch import OptionChange, apply, changes_to, parse_block, request_block, rounded, shape_of, walltime_text
from jobs.sbatch_shape import has_whole_nodes
from jobs.sbatch_values import gpu_options
from jobs.sbatch_values import walltime_s as limit_s

SUCCESS_MIN = 0.5
"""A request that failed more often than it ran to its end is not recommended, however little it bills."""

RUNS_MAX = 200
"""The latest runs of a work (within a year) that its request follows from, whoever asks for it."""

RECENT_MAX = 5
"""The last runs of the same size decide what the next one needs: the most that any of them needed."""

NO_GPU_USE = FindingCode.NO_GPU_USE.value
Options = tuple[str, ...]


@dataclass(frozen=True)
class BestRequest:
    """`run` stands for the next one; `gpu_hours` is the median of the `completed` runs of its size.

    `longest_s` is how long the longest of these took. `recent` of them were asked for what the next run needs.
    `busy_cores` is the most that any of these kept busy, `host_peak_gb` the most memory that any of the completed ones
    needed. `sizes` is how many sizes qualified, `without_gpu_use` the completed runs that were left out because
    they used no GPU. `was_tried`: runs had the number of GPUs that the report of `run` suggests; they failed or were
    not cheaper, so what it suggests is not made. `is_other_work`: the run times show that the sizes did different work,
    so that the size of the latest run counts, and not the cheapest.
    """

    run: PastRun
    gpu_hours: float
    completed: int
    longest_s: float
    recent: int
    sizes: int
    busy_cores: float = 0.0
    host_peak_gb: float = 0.0
    without_gpu_use: int = 0
    was_tried: bool = False
    is_other_work: bool = False


def best_request(runs: Iterable[PastRun]) -> BestRequest | None:
    """The run whose request is that of the work; None where no size completed in at least half of its runs.

    What completed without any GPU use shows no request that works, as long as another run of the work used its GPUs.
    """
    every = sorted(runs, key=_age, reverse=True)[:RUNS_MAX]
    shown = [run for run in every if not (run.is_comparable and is_without_gpu_use(run))]
    found = _candidates(shown)
    if not found:
        shown, found = every, _candidates(every)
    if not found:
        return None
    is_other_work = _did_other_work(found)
    hours, good = _last(found) if is_other_work else min(found, key=lambda each: (each[0], *_newest_first(each[1][0])))
    run = like_the_next(good)
    return BestRequest(
        run=run,
        gpu_hours=hours,
        completed=len(good),
        longest_s=max(each.elapsed_s or 0.0 for each in good),
        recent=len(good[:RECENT_MAX]),
        sizes=len(found),
        busy_cores=max(each.busy_cores or 0.0 for each in good[:RECENT_MAX]),
        host_peak_gb=max(each.host_peak_gb or 0.0 for each in good),
        without_gpu_use=len(every) - len(shown),
        was_tried=_was_tried(run, shown),
        is_other_work=is_other_work,
    )


def like_the_next(completed: Sequence[PastRun]) -> PastRun:
    """Of the last completed runs of one size, which come the latest first, the one that the next run will be like.

    The latest of those that needed the most GPUs; before that, one whose options are known. Runs without any GPU use
    stand for the next one only where no other has completed.
    """
    recent = ([run for run in completed if not is_without_gpu_use(run)] or completed)[:RECENT_MAX]
    return max(recent, key=lambda run: (needed_gpus(run), is_spelling_known(run), *_age(run)))


def needed_gpus(run: PastRun) -> int:
    """As many GPUs as the report of a run suggests, else all that it had."""
    had = run.gpus or 0
    return had if run.recommended_gpus is None else min(run.recommended_gpus, had)


def gpus_of_work(best: BestRequest) -> int:
    """The number of GPUs that the request of the work has."""
    return best.run.gpus or 0 if best.was_tried else needed_gpus(best.run)


def is_without_gpu_use(run: PastRun) -> bool:
    """Whether its report found that it used none of its GPUs."""
    return NO_GPU_USE in run.finding_codes.split()


def size_of(run: PastRun) -> tuple[str, int, int | None]:
    """The kind of node, the nodes and the GPUs of a run: what makes its GPU-hours those of one request."""
    described = partition_of(run.cluster, run.partition)
    return repr(described.node) if described else f"{run.cluster} {run.partition}", run.nodes or 1, run.gpus


def _age(run: PastRun) -> tuple[float, int]:
    return run.ended_at.timestamp(), run.pk


def _newest_first(run: PastRun) -> tuple[float, int]:
    ended, pk = _age(run)
    return -ended, -pk


def _last(found: Sequence[tuple[float, list[PastRun]]]) -> tuple[float, list[PastRun]]:
    """The size of the latest completed run."""
    return max(found, key=lambda each: _age(each[1][0]))


def _did_other_work(found: Sequence[tuple[float, list[PastRun]]]) -> bool:
    """Whether one size was so much faster per GPU than the smallest that it had another input (`analysis.scaling`)."""
    runs = [ComparableRun(run.gpus or 0, run.elapsed_s or 0.0) for _, good in found for run in good]
    return max(speed_kept(typical_times_s(runs)).values(), default=0.0) > SAME_WORK_MAX


def _candidates(latest_first: Sequence[PastRun]) -> list[tuple[float, list[PastRun]]]:
    """The median GPU-hours of each size that qualifies, and its completed runs, the latest first."""
    by_size: dict[object, list[PastRun]] = defaultdict(list)
    for run in latest_first:
        by_size[size_of(run)].append(run)
    return [found for group in by_size.values() if (found := _qualified(group)) is not None]


def _qualified(runs: Sequence[PastRun]) -> tuple[float, list[PastRun]] | None:
    good = [run for run in runs if run.is_comparable and not run.uncounted_reason and run.gpu_hours is not None]
    failures = sum(run.is_own_failure for run in runs)
    if not good or len(good) < SUCCESS_MIN * (len(good) + failures):
        return None
    return median(run.gpu_hours for run in good if run.gpu_hours is not None), good


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
    return parse_block(request_block(run.allocation))


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


def _was_tried(best: PastRun, runs: Iterable[PastRun]) -> bool:
    """Whether other runs already had the number of GPUs that the report of the best run advises.

    They are not the cheapest then, or failed: the advice was better than nothing, but the measured runs know more.
    """
    advised_gpus = best.recommended_gpus
    if advised_gpus is None or advised_gpus == best.gpus:
        return False
    return any(run.gpus == advised_gpus and (run.is_comparable or run.is_own_failure) for run in runs)


def with_time_for(request: Mapping[str, str], longest_s: float, best: PastRun) -> dict[str, str]:
    """The request with a time limit that its longest run would not have reached, as far as the partition allows.

    >>> from datetime import UTC, datetime
    >>> run = PastRun(1, "lumi", 1, 0, "COMPLETED", datetime(2026, 11, 1, tzinfo=UTC), partition="small-g")
    >>> with_time_for({"--gpus": "8", "--time": "04:00:00"}, 36_000.0, run)
    {'--gpus': '8', '--time': '12:00:00'}
    >>> with_time_for({"--gpus": "8", "--time": "10:00:00"}, 36_000.0, run)
    {'--gpus': '8', '--time': '10:00:00'}
    """
    written_s = limit_s(request.get("--time", ""))
    if not written_s or written_s >= longest_s:
        return dict(request)
    described = partition_of(best.cluster, request.get("--partition", best.partition))
    most_s = (described.walltime_max_s if described else None) or float("inf")
    return dict(request) | {"--time": walltime_text(min(limit_with_headroom_s(longest_s), most_s))}


def with_host_for(request: Mapping[str, str], best: BestRequest) -> dict[str, str]:
    """The request with cores and host memory for all runs that it rests on, never more than the run itself had.

    >>> from datetime import UTC, datetime
    >>> run = PastRun(1, "lumi", 1, 0, "COMPLETED", datetime(2026, 11, 1, tzinfo=UTC), cores=48, memory_gb=480.0)
    >>> asked = {"--partition": "small-g", "--gpus": "2", "--ntasks": "16", "--cpus-per-task": "1", "--mem": "120G"}
    >>> with_host_for(asked, BestRequest(run, 9.0, 4, 60.0, 4, 1, busy_cores=17.4))["--cpus-per-task"]
    '2'
    """
    run, threads = best.run, threads_per_core(best.run.cluster)
    partition = partition_of(run.cluster, request.get("--partition", run.partition))
    shape = shape_of(request, partition, None, threads)
    if shape is None or has_whole_nodes(shape, partition):
        return dict(request)
    cores, memory_gb = shape.cores, shape.memory_gb
    if cores:
        cores = max(cores, min(cores_for(best.busy_cores), run.cores or cores))
    if memory_gb:
        needed_gb = math.ceil(LIMITS.headroom_factor * best.host_peak_gb)
        memory_gb = max(memory_gb, min(float(needed_gb), run.memory_gb or memory_gb))
    wanted = replace(shape, cores=cores, memory_gb=memory_gb)
    if wanted == shape:
        return dict(request)
    changes = changes_to(request, shape, rounded(wanted), partition, partition, threads)
    return dict(request) if changes is None else apply(request, changes)


def lines_of(request: Mapping[str, str]) -> Options:
    """The options as they are written.

    >>> lines_of({"--nodes": "1", "--exclusive": ""})
    ('--nodes=1', '--exclusive')
    """
    return tuple(f"{option}={value}" if value else option for option, value in request.items())
