"""A site's profile compared with what Slurm itself reports about its partitions and nodes.

It reads the output of `scontrol show partition` and `scontrol show node`, with or without `--oneliner` (scontrol(1);
captured from Slurm 22.05). Limits that a QOS sets are not in it: where a partition has a QOS and no limit of its own,
the profile's limit is not compared.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from jobs.sacct_values import NO_LIMIT, clock_s
from jobs.site_profile import Cluster, NodeType, Partition

MB_PER_GB = 1024.0
# Profiles are written with one decimal: 502.9 GB is RealMemory=515000.
TOLERANCE_GB = 0.05
NAMED_MAX = 3
"""The most nodes that a line names; the others are counted."""

FIELD = re.compile(r"(?:^|\s)([A-Za-z]+)=(\S*)")
GPUS = re.compile(r"(?:^|,)gpu(?::([^:,]+))?:(\d{1,6})(?=,|$)")
SOCKETS_OF = re.compile(r"\([^)]*\)")
NO_QOS = frozenset({"", "N/A"})


class ScontrolFormatError(ValueError):
    """Text that is not output of scontrol; the message states where."""


@dataclass(frozen=True)
class SlurmPartition:
    """One partition in Slurm; None is no limit, or no default of its own. A CPU is what Slurm counts as one."""

    name: str
    is_exclusive: bool
    nodes: int
    nodes_max: int | None
    walltime_max_s: float | None
    memory_per_node_mb: int | None
    memory_per_cpu_mb: int | None
    has_gpus: bool
    has_qos: bool


@dataclass(frozen=True)
class SlurmNode:
    """One node in Slurm: `gpus` by type, the type empty where Gres names none; cores and memory for jobs."""

    name: str
    partitions: tuple[str, ...]
    gpus: Mapping[str, int]
    cores: int
    cpus_per_core: float
    memory_mb: int


def slurm_partitions(text: str) -> tuple[SlurmPartition, ...]:
    """Every partition in the output of `scontrol show partition`. Raises ScontrolFormatError."""
    return tuple(_partition(name, fields) for name, fields in _records(text, "PartitionName"))


def slurm_nodes(text: str) -> tuple[SlurmNode, ...]:
    """Every node in the output of `scontrol show node`. Raises ScontrolFormatError."""
    return tuple(_node(name, fields) for name, fields in _records(text, "NodeName"))


def differences(cluster: Cluster, partitions: Sequence[SlurmPartition], nodes: Sequence[SlurmNode]) -> tuple[str, ...]:
    """A line for each difference between the profile and Slurm; none where they agree."""
    known = {found.name: found for found in partitions}
    lines = list(_missing(cluster, known, nodes))
    for name, described in cluster.partitions.items():
        if name in known:
            lines += [f"partition {name}: {line}" for line in _of_partition(described, known[name], cluster)]
    return (*lines, *_of_nodes(cluster, nodes))


def _missing(cluster: Cluster, known: Mapping[str, SlurmPartition], nodes: Sequence[SlurmNode]) -> Iterator[str]:
    """Partitions that only one side has; CPU partitions only where the profile names them."""
    for name in (name for name in cluster.partitions if name not in known):
        yield f"partition {name}: is in the profile, not in Slurm"
    with_gpus = {name for node in nodes if node.gpus for name in node.partitions}
    with_gpus |= {found.name for found in known.values() if found.has_gpus}
    for name in sorted(with_gpus - cluster.partitions.keys() - set(cluster.left_out)):
        yield f"partition {name}: has GPUs in Slurm, is not in the profile (list it in left_out to ignore it)"
    named = {described.cpu_partition for described in cluster.partitions.values() if described.cpu_partition}
    for name in sorted(named - known.keys()):
        users = [own for own, described in cluster.partitions.items() if described.cpu_partition == name]
        yield f"partition {name}: is the cpu_partition of {', '.join(users)}, not in Slurm"


def _of_partition(described: Partition, found: SlurmPartition, cluster: Cluster) -> Iterator[str]:
    if described.is_exclusive != found.is_exclusive:
        yield _differs("is_exclusive", _yes(described.is_exclusive), _yes(found.is_exclusive), "OverSubscribe")
    is_whole = found.nodes_max is None and described.nodes_max == found.nodes
    if described.nodes_max != found.nodes_max and not is_whole and not (found.has_qos and found.nodes_max is None):
        yield _differs("nodes_max", _limit(described.nodes_max), _limit(found.nodes_max), "MaxNodes")
    is_of_qos = found.has_qos and found.walltime_max_s is None
    if described.walltime_max_s != found.walltime_max_s and not is_of_qos:
        yield _differs("walltime_max_s", _limit(described.walltime_max_s), _limit(found.walltime_max_s), "MaxTime")
    per_node_gb = _gb(found.memory_per_node_mb)
    if not _is_same(described.default_memory_gb, per_node_gb):
        yield _differs("default_memory_gb", _size(described.default_memory_gb), _size(per_node_gb), "DefMemPerNode")
    per_cpu_gb = _gb(found.memory_per_cpu_mb)
    per_core_gb = None if per_cpu_gb is None else per_cpu_gb * cluster.threads_per_core
    if not _is_same(described.default_memory_per_core_gb, per_core_gb):
        wanted = _size(described.default_memory_per_core_gb)
        yield _differs("default_memory_per_core_gb", wanted, _size(per_core_gb), "DefMemPerCPU x threads_per_core")


def _of_nodes(cluster: Cluster, nodes: Sequence[SlurmNode]) -> Iterator[str]:
    """Each difference once, with the partitions and nodes that have it."""
    seen: dict[str, dict[str, set[str]]] = {}
    for node in nodes:
        for name in node.partitions:
            if name in cluster.partitions:
                for line in _of_node(cluster.partitions[name].node, cluster.threads_per_core, node):
                    seen.setdefault(line, {}).setdefault(name, set()).add(node.name)
    for line, by_partition in seen.items():
        names = sorted(set().union(*by_partition.values()))
        more = f" and {len(names) - NAMED_MAX:,} more" if len(names) > NAMED_MAX else ""
        yield f"nodes of {', '.join(by_partition)}: {line}: {', '.join(names[:NAMED_MAX])}{more}"


def _of_node(described: NodeType, threads_per_core: int, found: SlurmNode) -> Iterator[str]:
    gpus = found.gpus.get(described.gres_type, sum(found.gpus.values()))
    if described.gpus != gpus:
        yield _differs("gpus", str(described.gpus), str(gpus), "Gres")
    if described.gres_type and found.gpus and set(found.gpus) != {described.gres_type}:
        types = " and ".join(name or "no type" for name in sorted(found.gpus))
        yield _differs("gres_type", described.gres_type, types, "Gres")
    memory_gb = found.memory_mb / MB_PER_GB
    if not _is_same(described.host_memory_gb, memory_gb):
        yield _differs("host_memory_gb", _size(described.host_memory_gb), _size(memory_gb), "RealMemory - MemSpecLimit")
    if described.cores != found.cores:
        where = "Sockets x CoresPerSocket - CoreSpecCount"
        yield _differs("cores", str(described.cores), str(found.cores), where)
    if threads_per_core != found.cpus_per_core:
        where = "CPUTot / (Sockets x CoresPerSocket)"
        yield _differs("threads_per_core", str(threads_per_core), f"{found.cpus_per_core:g}", where)


def _partition(name: str, fields: Mapping[str, str]) -> SlurmPartition:
    nodes_max, walltime = fields.get("MaxNodes", ""), fields.get("MaxTime", "")
    try:
        return SlurmPartition(
            name=name,
            is_exclusive=fields.get("OverSubscribe") == "EXCLUSIVE",
            nodes=int(fields.get("TotalNodes", "0")),
            nodes_max=_number(nodes_max),
            walltime_max_s=None if walltime in NO_LIMIT else clock_s(walltime),
            memory_per_node_mb=_number(fields.get("DefMemPerNode", "")),
            memory_per_cpu_mb=_number(fields.get("DefMemPerCPU", "")),
            has_gpus="gres/gpu" in fields.get("TRES", ""),
            has_qos=fields.get("QoS", "") not in NO_QOS,
        )
    except ValueError as error:
        raise ScontrolFormatError(f"PartitionName={name}: {error}") from error


def _node(name: str, fields: Mapping[str, str]) -> SlurmNode:
    try:
        cpus, memory_mb = int(fields["CPUTot"]), int(fields["RealMemory"])
        cores = int(fields["Sockets"]) * int(fields["CoresPerSocket"])
        if not cpus or not cores:
            raise ValueError("has no cores")
        gpus: dict[str, int] = {}
        for kind, count in GPUS.findall(SOCKETS_OF.sub("", fields.get("Gres", ""))):
            gpus[kind] = gpus.get(kind, 0) + int(count)
        return SlurmNode(
            name=name,
            partitions=tuple(partition for partition in fields.get("Partitions", "").split(",") if partition),
            gpus=gpus,
            cores=cores - int(fields.get("CoreSpecCount", "0")),
            cpus_per_core=cpus / cores,
            memory_mb=memory_mb - int(fields.get("MemSpecLimit", "0")),
        )
    except KeyError as error:
        raise ScontrolFormatError(f"NodeName={name}: has no {error.args[0]}") from error
    except ValueError as error:
        raise ScontrolFormatError(f"NodeName={name}: {error}") from error


def _records(text: str, key: str) -> Iterable[tuple[str, Mapping[str, str]]]:
    """Name and fields of each record that begins with `key`; of a repeated field the first counts, because
    free text (Reason, Comment) comes last."""
    starts = [part for part in re.split(rf"(?m)^(?={key}=)", text) if part.startswith(f"{key}=")]
    if not starts:
        raise ScontrolFormatError(f"no line begins with {key}=")
    for record in starts:
        fields: dict[str, str] = {}
        for name, value in FIELD.findall(record):
            fields.setdefault(name, value)
        yield fields[key], fields


def _differs(key: str, described: str, found: str, where: str) -> str:
    return f"{key} is {described} in the profile, {found} in Slurm ({where})"


def _number(cell: str) -> int | None:
    return None if cell in NO_LIMIT else int(cell)


def _gb(megabytes: int | None) -> float | None:
    return None if megabytes is None else megabytes / MB_PER_GB


def _is_same(described_gb: float | None, found_gb: float | None) -> bool:
    if described_gb is None or found_gb is None:
        return described_gb is found_gb
    return abs(described_gb - found_gb) <= TOLERANCE_GB


def _limit(value: float | None) -> str:
    return "no limit" if value is None else f"{value:.0f}"


def _size(gigabytes: float | None) -> str:
    return "none" if gigabytes is None else f"{round(gigabytes, 1):g} GB"


def _yes(is_so: bool) -> str:
    return "true" if is_so else "false"
