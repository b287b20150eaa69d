"""A request before it is submitted: what Slurm would give for its options, where it fits, and what it would cost."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jobs.hardware import Partition, clusters, partition_of, threads_per_core
from jobs.records import RESOURCE_OPTIONS
from jobs.sbatch import Shape, refusal, shape_of, walltime_s
from jobs.sbatch_values import gpu_type_of, node_range


@dataclass(frozen=True)
class Asked:
    """One request: `options` are those about resources, in the person's own spelling.

    `refused` is why sbatch refuses them, empty where it does not. `shape` is None where it is refused or unclear, or
    does not fit the partition's nodes; `partition` is None where the site's profile does not describe it.
    """

    cluster: str
    options: Mapping[str, str]
    partition: Partition | None
    shape: Shape | None
    refused: str

    @property
    def is_known(self) -> bool:
        """Whether it is known what Slurm would give, and on which hardware."""
        return self.shape is not None and self.partition is not None

    @property
    def is_unlimited(self) -> bool:
        """Whether the request states that it has no time limit: `--time=UNLIMITED`, `INFINITE`, -1 or 0.

        Without `--time` the partition sets one.
        """
        return "--time" in self.options and walltime_s(self.options["--time"]) is None

    @property
    def allocated_gpus(self) -> tuple[int, ...]:
        """How many GPUs a run may be recorded with: those requested, or on whole nodes all of theirs."""
        if self.shape is None:
            return ()
        if self.partition is None or not (self.partition.is_exclusive or self.shape.is_exclusive):
            return (self.shape.gpus,)
        return self.shape.gpus, self.shape.nodes * self.partition.node.gpus


@dataclass(frozen=True)
class Fit:
    """A request in one partition; `why_not` is "nodes", "walltime", "gpu_type" or "node_size", empty where it fits."""

    partition: Partition
    shape: Shape | None
    why_not: str


def asked(cluster: str, options: Mapping[str, str]) -> Asked:
    """The request of these options.

    >>> one = asked("lumi", {"--partition": "small-g", "--gpus-per-node": "2", "--qos": "normal"})
    >>> one.shape.gpus, one.shape.memory_gb, sorted(one.options)
    (2, 64.0, ['--gpus-per-node', '--partition'])
    >>> asked("lumi", {"--gpus": "7", "--gpus-per-node": "4"}).refused
    '--gpus is not a multiple of the GPUs of each node.'
    """
    resources = {name: value for name, value in options.items() if name in RESOURCE_OPTIONS}
    partition = partition_of(cluster, resources.get("--partition", "").partition(",")[0])
    refused = refusal(resources) or ""
    shape = None if refused else shape_of(resources, partition, None, threads_per_core(cluster))
    return Asked(cluster, resources, partition, shape, refused)


def fit(request: Asked, partition: Partition) -> Fit:
    """Whether a partition of the same cluster can run the request, as its options are.

    >>> fit(asked("lumi", {"--gpus-per-node": "8", "--nodes": "8"}), partition_of("lumi", "small-g")).why_not
    'nodes'
    >>> fit(asked("lumi", {"--gpus": "8", "--time": "UNLIMITED"}), partition_of("lumi", "small-g")).why_not
    'walltime'
    """
    options = {**request.options, "--partition": partition.name}
    gpu_type, own_type = gpu_type_of(options), partition.node.gres_type
    shape = shape_of(options, partition, None, threads_per_core(request.cluster))
    if gpu_type and own_type and gpu_type.lower() != own_type.lower():
        return Fit(partition, None, "gpu_type")
    if shape is None:
        return Fit(partition, None, "node_size")
    if partition.nodes_max and shape.nodes > partition.nodes_max:
        return Fit(partition, shape, "nodes")
    limit_s = math.inf if request.is_unlimited else shape.walltime_s or 0.0
    if partition.walltime_max_s and limit_s > partition.walltime_max_s:
        return Fit(partition, shape, "walltime")
    return Fit(partition, shape, "")


def own_fit(request: Asked) -> Fit | None:
    """The request in the partitions that it names: the first that can run it, else the first; None if not described.

    >>> own_fit(asked("lumi", {"--partition": "dev-g,small-g", "--gpus": "1", "--time": "1-0"})).partition.name
    'small-g'
    """
    if request.partition is None:
        return None
    names = request.options.get("--partition", "").split(",")
    described = (partition_of(request.cluster, name) for name in names)
    found = [fit(request, partition) for partition in described if partition is not None]
    return next((each for each in found if not each.why_not), found[0] if found else None)


def other_starts(request: Asked) -> tuple[tuple[str, int | None], ...]:
    """(Partition, nodes) as which Slurm may start a request otherwise than its first partition on the fewest nodes.

    >>> other_starts(asked("lumi", {"--partition": "small-g,standard-g", "--gpus": "1"}))
    (('standard-g', None),)
    >>> other_starts(asked("lumi", {"--partition": "small-g", "--nodes": "1-4", "--gpus-per-node": "8"}))
    (('small-g', 4),)
    >>> other_starts(asked("lumi", {"--partition": "dev-g", "--nodes": "1-4", "--gpus-per-node": "8", "--ntasks": "2"}))
    (('dev-g', 2),)
    """
    if request.shape is None or request.partition is None:
        return ()
    most = (node_range(request.options.get("--nodes", "")) or (0, 0))[1]
    # Tasks that are not counted follow from the nodes; no node is without a task.
    tasks = (request.shape.ntasks if "--ntasks" in request.options else None) or most
    nodes = min(most, request.partition.nodes_max or most, tasks)
    names = dict.fromkeys(request.options.get("--partition", "").split(","))
    more = nodes if request.shape.nodes < nodes else None
    return tuple((name, more) for name in names if more or name != request.partition.name)


def fits(request: Asked) -> tuple[Fit, ...]:
    """The same of every partition of the cluster, in the order of the profile; none where no GPU is requested."""
    known = clusters().get(request.cluster)
    if known is None or request.refused or (request.shape is not None and not request.shape.gpus):
        return ()
    return tuple(fit(request, partition) for partition in known.partitions.values())


def cheapest(costs: Iterable[tuple[str, float | None]], own: str) -> str | None:
    """The partition with the lowest cost of (partition, cost); of several the own one, else the first.

    None where fewer than two costs are known, or all are the same: then there is nothing to choose.

    >>> cheapest([("standard-g", 4.0), ("small-g", 1.0), ("dev-g", 1.0)], "dev-g")
    'dev-g'
    >>> cheapest([("small-g", 1.0), ("dev-g", 1.0)], "small-g") is None
    True
    """
    known = [(name, cost) for name, cost in costs if cost is not None]
    if len({cost for _, cost in known}) < 2:
        return None
    lowest = [name for name, cost in known if cost == min(cost for _, cost in known)]
    return own if own in lowest else lowest[0]


def soonest(waits: Sequence[tuple[str, tuple[float, float] | None]]) -> str | None:
    """The partition whose waits all end before those of every other one begin, of (partition, (low, high) seconds).

    None where the wait of any of them is not known, or ranges overlap: then the data do not show it.

    >>> soonest([("small-g", (60.0, 600.0)), ("standard-g", (900.0, 9000.0))])
    'small-g'
    >>> soonest([("small-g", (60.0, 600.0)), ("standard-g", (500.0, 9000.0))]) is None
    True
    """
    known = [(name, wait) for name, wait in waits if wait is not None]
    if len(known) < max(len(waits), 2):
        return None
    first, *others = sorted(known, key=lambda each: each[1][1])
    return first[0] if all(first[1][1] < wait[0] for _, wait in others) else None
