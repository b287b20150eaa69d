"""What a run's idle GPUs could have been used for: the jobs of others that waited meanwhile and would have fitted.

On an idle system nobody waits, and nothing is counted. Slurm could probably have started these jobs, but not certainly:
what they requested of cores and memory, and limits and priorities of accounts, are not compared.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

import numpy as np

from analysis.facts import JobFacts
from analysis.feedback import is_anonymous

WAITED_MIN = timedelta(minutes=5)
"""Shorter waits do not count: Slurm itself takes up to some minutes to start a job that fits (slurm.conf(5),
SchedulerParameters: `sched_interval` 60 s, `bf_interval` 30 s, `bf_resolution` 60 s), longer in a full queue."""

COUNTED_EXACTLY = 10


@dataclass(frozen=True)
class IdleRun:
    """A run and its idle GPUs: how many nodes have how many of them, `{8: 2, 3: 1}`.

    `node_gpus` are those of a whole node; `is_whole_nodes`: the partition allocates whole nodes.
    """

    user: int
    started_at: datetime
    ended_at: datetime
    idle: Mapping[int, int]
    node_gpus: int
    is_whole_nodes: bool


@dataclass(frozen=True)
class Waiting:
    """A job that waited in the same partition, from when only the queue delayed it until it started or was cancelled.

    `is_exclusive`: it takes whole nodes.
    """

    user: int
    gpus: int
    nodes: int
    is_exclusive: bool
    since: datetime
    until: datetime


@dataclass(frozen=True)
class Waited:
    """What others waited for meanwhile.

    `wanted_fraction` is the share of the idle GPUs' time that waiting jobs would have filled at each moment,
    `could_start` how many of the jobs fit into the idle GPUs together. `is_shown`: these are jobs of enough people.
    """

    wanted_fraction: float
    could_start: int
    is_shown: bool


@dataclass(frozen=True)
class _Fitting(Waiting):
    """A waiting job as it would fit: GPUs on each of some nodes, during minutes of the run."""

    on_each: int


def idle_gpus_by_node(facts: JobFacts) -> dict[int, int]:
    """How many nodes have how many GPUs that never worked, measured for nearly the whole run.

    Of a run with whole nodes only whole idle nodes count: no other job can get a part of them. GPUs that were measured
    beyond the allocated ones are idle ones that do not count: some of them were not the run's.
    """
    if facts.partition is None or not facts.is_use_judged:
        return {}
    is_covered = facts.measured_s >= facts.limits.partial_coverage_fraction * facts.elapsed_s
    is_unused = facts.is_idle & ~facts.did_work & is_covered
    by_node = np.bincount(facts.gpus.node_index[is_unused], minlength=len(facts.nodes))
    surplus = max(facts.gpus.count - facts.allocated_gpus, 0)
    by_node = by_node - np.diff(np.minimum(np.cumsum(by_node), surplus), prepend=0)
    least = facts.partition.node.gpus if facts.is_exclusive else 1
    return dict(sorted(Counter(int(gpus) for gpus in by_node if gpus >= least).items()))


def waited(run: IdleRun, jobs: Iterable[Waiting]) -> Waited:
    """What the idle GPUs of a run could have been used for."""
    fitting = [fit for job in jobs if (fit := _fitting(run, job))]
    total = sum(gpus * nodes for gpus, nodes in run.idle.items())
    run_s = (run.ended_at - run.started_at).total_seconds()
    jobs_of = Counter(job.user for job in fitting)
    return Waited(
        # Rounding may exceed the whole by the last digit.
        wanted_fraction=min(_wanted_gpu_s(fitting, total) / (total * run_s), 1.0) if fitting else 0.0,
        could_start=_packed(run.idle, fitting),
        is_shown=bool(fitting) and is_anonymous(list(jobs_of.values())),
    )


def _fitting(run: IdleRun, job: Waiting) -> _Fitting | None:
    """The job within the time of the run, if it is somebody else's, waited long enough and fits alone."""
    since, until = max(job.since, run.started_at), min(job.until, run.ended_at)
    if job.user == run.user or until - since < WAITED_MIN:
        return None
    nodes = max(job.nodes, 1, -(-job.gpus // run.node_gpus))
    if run.is_whole_nodes or job.is_exclusive:
        on_each, gpus = run.node_gpus, run.node_gpus * nodes
    else:
        on_each, gpus = -(-job.gpus // nodes), job.gpus
    fit = _Fitting(job.user, gpus, nodes, job.is_exclusive, since, until, on_each)
    enough = sum(count for idle, count in run.idle.items() if idle >= on_each)
    return fit if gpus > 0 and enough >= nodes else None


def _taken(idle: Mapping[int, int], job: _Fitting) -> dict[int, int] | None:
    """The idle GPUs that are left when the job gets its own, on the nodes with the fewest that are enough."""
    left, needed = dict(idle), job.nodes
    for gpus in sorted(gpus for gpus in idle if gpus >= job.on_each):
        here = min(idle[gpus], needed)
        left[gpus] -= here
        left[gpus - job.on_each] = left.get(gpus - job.on_each, 0) + here
        needed -= here
    return None if needed else {gpus: nodes for gpus, nodes in left.items() if gpus and nodes}


def _packed(idle: Mapping[int, int], jobs: Sequence[_Fitting]) -> int:
    """How many of the jobs fit together, the smallest first; each GPU is given once."""
    left, count = dict(idle), 0
    for job in sorted(jobs, key=lambda job: (job.gpus, job.nodes)):
        if not left:
            break
        after = _taken(left, job)
        if after is not None:
            left, count = after, count + 1
    return count


def _wanted_gpu_s(jobs: Sequence[_Fitting], idle_gpus: int) -> float:
    """GPU-seconds that waiting jobs requested at the same moment, at each moment at most the idle GPUs."""
    changes: Counter[datetime] = Counter()
    for job in jobs:
        changes[job.since] += job.gpus
        changes[job.until] -= job.gpus
    total, wanted, before = 0.0, 0, None
    for at in sorted(changes):
        if before is not None:
            total += min(wanted, idle_gpus) * (at - before).total_seconds()
        wanted, before = wanted + changes[at], at
    return total


def shown_count(count: int) -> int:
    """A number of jobs as it is shown: from ten on rounded down to its first digit.

    >>> shown_count(7), shown_count(49)
    (7, 40)
    """
    if count < COUNTED_EXACTLY:
        return count
    step = 10 ** (len(str(count)) - 1)
    return int(count // step * step)
