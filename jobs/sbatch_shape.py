"""The shape of a request: nodes, GPUs, tasks, cores and memory that Slurm gives for sbatch's resource options.

A CPU of `--cpus-per-task` and `--cpus-per-gpu` is a core: LUMI's default is `--hint=nomultithread` (LUMI user guide).
`--mem-per-cpu` counts hardware threads, of which whole cores are allocated: `threads_per_core` of them each.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from jobs.hardware import Partition
from jobs.sbatch_values import COUNT_MAX, WHOLE_NODE, Numbers, memory_gb, numbers_of, refusal, walltime_s

# Slurm counts whole megabytes; sacct prints two decimals of a unit.
MEMORY_ROUNDING_GB = 0.05


@dataclass(frozen=True)
class Shape:
    """A request: `cores` and `memory_gb` (2^30 bytes) over all nodes; None is not known or not requested.

    `is_exclusive` is whole nodes by --exclusive; an exclusive partition gives them without it.
    """

    nodes: int
    gpus: int
    ntasks: int | None = None
    cores: int | None = None
    memory_gb: float | None = None
    walltime_s: float | None = None
    partition: str = ""
    is_exclusive: bool = False


def shape_of(
    request: Mapping[str, str], partition: Partition | None, now: Shape | None = None, threads_per_core: int = 1
) -> Shape | None:
    """What Slurm gives for `request` on `partition`; None where it refuses it, cannot fit it, or leaves it unclear.

    What the options do not set comes from `now`, the shape that was allocated: partition and time limit, and for the
    same number of GPUs the nodes. Without it nodes are the fewest that fit, and no time limit is known. GPUs are those
    requested (ReqTRES), also where whole nodes are billed. `--gpus-per-socket` assumes one socket per node, as
    LUMI's have: `--sockets-per-node` is not recorded.

    >>> from jobs.hardware import partition_of
    >>> shape_of({"--gpus-per-node": "2", "--cpus-per-task": "14", "--nodes": "1"}, partition_of("lumi", "small-g"))
    Shape(nodes=1, gpus=2, ntasks=1, cores=14, memory_gb=64.0, walltime_s=None, partition='', is_exclusive=False)
    """
    if refusal(request) is not None:
        return None
    numbers, name = numbers_of(request), request.get("--partition", "").partition(",")[0]
    nodes = _nodes(numbers, partition, now if now and name in ("", now.partition) else None)
    gpus = _gpus(numbers, nodes)
    ntasks = _ntasks(numbers, nodes, gpus)
    cores = _cores(numbers, gpus, ntasks)
    shape = Shape(
        nodes=nodes,
        gpus=gpus,
        ntasks=ntasks,
        cores=cores,
        walltime_s=walltime_s(request["--time"]) if "--time" in request else now.walltime_s if now else None,
        partition=name or (now.partition if now else ""),
        is_exclusive=is_exclusive(request),
    )
    if has_whole_nodes(shape, partition):
        shape = replace(shape, cores=partition.node.cores * nodes if partition else None)
    shape = replace(shape, memory_gb=_memory_gb(request, shape, partition, now, threads_per_core))
    is_sound = _is_consistent(numbers, nodes, gpus, ntasks)
    return shape if is_sound and (partition is None or _fits(numbers, shape, cores, partition)) else None


def explains(request: Mapping[str, str], held: Shape, partition: Partition | None, threads_per_core: int = 1) -> bool:
    """Whether the options as known account for what was allocated, so that a diff of them states the whole change.

    GPUs and nodes must agree, on shared nodes also cores (exactly) and memory (within rounding). Whole nodes may be
    allocated with the GPUs requested or with all of theirs. Tasks do not count: steps may start any number.

    >>> from jobs.hardware import partition_of
    >>> held = Shape(nodes=1, gpus=8, cores=56, memory_gb=480.0, partition="small-g")
    >>> explains({"--gpus": "8", "--time": "04:00:00"}, held, partition_of("lumi", "small-g"))
    False
    """
    given = shape_of(request, partition, held, threads_per_core)
    if given is None or given.nodes != held.nodes or (held.partition and given.partition != held.partition):
        return False
    if has_whole_nodes(given, partition):
        return held.gpus == given.gpus or bool(partition and held.gpus == held.nodes * partition.node.gpus)
    return (
        given.gpus == held.gpus
        and (held.cores is None or given.cores == held.cores)
        and (held.memory_gb is None or is_same_memory(given, held))
    )


def has_whole_nodes(shape: Shape, partition: Partition | None) -> bool:
    return shape.is_exclusive or bool(partition and partition.is_exclusive)


def is_same_memory(given: Shape, held: Shape) -> bool:
    """Whether two shapes of the same nodes have the same memory, within rounding."""
    if given.memory_gb is None or held.memory_gb is None:
        return False
    return abs(given.memory_gb - held.memory_gb) <= MEMORY_ROUNDING_GB * held.nodes


def is_exclusive(request: Mapping[str, str]) -> bool:
    return request.get("--exclusive", "no") in WHOLE_NODE


def memory_option(request: Mapping[str, str]) -> str | None:
    """Which of the three memory options the request has; sbatch takes one at most."""
    return next((option for option in ("--mem", "--mem-per-cpu", "--mem-per-gpu") if option in request), None)


def _nodes(n: Numbers, partition: Partition | None, now: Shape | None) -> int:
    """The nodes: as many as named, as the GPUs or tasks per node demand, as allocated, else the fewest that fit."""
    if n.gpus and n.gpus_per_node:
        return n.gpus // n.gpus_per_node
    least, most = n.nodes or (1, COUNT_MAX)
    if n.ntasks and n.ntasks < least:
        # sbatch: "can't run 2 processes on 4 nodes, setting nnodes to 2".
        return n.ntasks
    if least == most:
        return least
    least = max(least, min(_fewest_nodes(n, partition), most))
    if now and least <= now.nodes <= most and _gpus(n, now.nodes) == now.gpus:
        return now.nodes
    return least


def _fewest_nodes(n: Numbers, partition: Partition | None) -> int:
    """The fewest nodes on which the tasks, cores and GPUs of a job have room; 1 where the nodes are not known."""
    gpus = _gpus(n, nodes=0)
    ntasks = _ntasks(n, nodes=0, gpus=gpus)
    fewest = 1
    if n.ntasks and n.ntasks_per_node:
        fewest = math.ceil(n.ntasks / n.ntasks_per_node)
    elif n.ntasks and n.gpus_per_node and n.gpus_per_task:
        fewest = math.ceil(n.ntasks * n.gpus_per_task / n.gpus_per_node)
    if partition and partition.node.gpus:
        fewest = max(fewest, math.ceil(gpus / partition.node.gpus))
    if partition and (tasks_fit := partition.node.cores // (n.cpus_per_task or 1)):
        fewest = max(fewest, math.ceil(ntasks / tasks_fit))
    return fewest


def _gpus(n: Numbers, nodes: int) -> int:
    if n.gpus is not None:
        return n.gpus
    if n.gpus_per_node is not None:
        return n.gpus_per_node * nodes
    if n.gpus_per_task is not None:
        return n.gpus_per_task * (n.ntasks or (n.ntasks_per_node or 1) * nodes)
    if n.gpus_per_socket is not None:
        return n.gpus_per_socket * nodes
    return (n.ntasks or 0) // n.ntasks_per_gpu if n.ntasks_per_gpu else 0


def _ntasks(n: Numbers, nodes: int, gpus: int) -> int:
    """The tasks as named or as the GPUs imply; else one on each node."""
    if n.ntasks:
        return n.ntasks
    if n.ntasks_per_gpu:
        return gpus * n.ntasks_per_gpu
    if n.ntasks_per_node:
        return n.ntasks_per_node * nodes
    return gpus // n.gpus_per_task if n.gpus_per_task else nodes


def _is_consistent(n: Numbers, nodes: int, gpus: int, ntasks: int) -> bool:
    """Whether options that bound each other agree on these nodes; how Slurm resolves the others is not known."""
    per_socket_too = n.gpus_per_socket is not None and (n.gpus, n.gpus_per_node, n.gpus_per_task) != (None,) * 3
    return (
        not per_socket_too
        and ntasks >= nodes
        and (not gpus or n.gpus is None or gpus >= nodes)
        and (not n.gpus_per_task or n.gpus_per_task * ntasks == gpus)
        and (not n.ntasks_per_gpu or n.ntasks_per_gpu * gpus == ntasks)
        and (not n.ntasks_per_node or ntasks <= n.ntasks_per_node * nodes)
    )


def _cores(n: Numbers, gpus: int, ntasks: int) -> int:
    if n.cpus_per_gpu:
        return max(n.cpus_per_gpu * gpus, ntasks)
    return ntasks * (n.cpus_per_task or 1)


def _memory_gb(
    request: Mapping[str, str], shape: Shape, partition: Partition | None, now: Shape | None, threads_per_core: int
) -> float | None:
    """Memory over all nodes; without an option the partition's default, which is all where it names none."""
    option = memory_option(request)
    if option is None and partition is None:
        return now.memory_gb if now and now.nodes == shape.nodes else None
    whole_gb = partition.node.host_memory_gb * shape.nodes if partition else None
    if option is None:
        return _default_memory_gb(shape, partition, whole_gb)
    gb = memory_gb(request[option]) or 0.0
    if option == "--mem-per-gpu":
        return gb * shape.gpus
    if option == "--mem-per-cpu":
        return None if shape.cores is None else gb * shape.cores * threads_per_core
    return gb * shape.nodes or whole_gb


def _default_memory_gb(shape: Shape, partition: Partition | None, whole_gb: float | None) -> float | None:
    """Memory without an option: as much per node, or per core, as the partition's default; all where it has none."""
    if partition and partition.default_memory_gb is not None:
        return partition.default_memory_gb * shape.nodes
    if partition and partition.default_memory_per_core_gb is not None:
        return partition.default_memory_per_core_gb * (shape.cores or 0)
    return whole_gb


def _fits(n: Numbers, shape: Shape, cores: int, partition: Partition) -> bool:
    """Whether the shape fits the partition's nodes: "Requested node configuration is not available" otherwise."""
    node, nodes = partition.node, shape.nodes
    tasks_fit = node.cores // (n.cpus_per_task or 1)
    return (
        shape.gpus <= nodes * node.gpus
        and cores <= nodes * node.cores
        and (shape.ntasks or 0) <= nodes * tasks_fit
        and (shape.memory_gb or 0.0) <= nodes * node.host_memory_gb
    )
