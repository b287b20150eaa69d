"""What the machines are: GPUs, nodes and partitions of each cluster that can be judged fully.

A GPU here is what Slurm and HIP call a GPU on LUMI-G: one GCD, half of an MI250X module. A cluster or
partition that is not in `CLUSTERS` (another site, LUMI's `lumid`) is judged on measured use alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType


@dataclass(frozen=True)
class NodeType:
    """One kind of node.

    `cores` are the physical cores a job can get; `host_memory_gb` is what Slurm hands out, in 2^30 bytes.
    """

    gpus: int
    cores: int
    host_memory_gb: float
    gpu_memory_gb: float
    gpus_per_module: int
    module_power_cap_w: float

    @property
    def cores_per_gpu(self) -> int:
        return self.cores // self.gpus

    @property
    def host_memory_share_gb(self) -> float:
        """Host memory that comes with one GPU."""
        return self.host_memory_gb / self.gpus


@dataclass(frozen=True)
class Partition:
    """One Slurm partition: `is_exclusive` gives whole nodes, `shared_twin` is its by-resource sibling.

    `default_memory_gb` is the host memory of a node that a request without any memory option gets; None is all.
    """

    node: NodeType
    is_exclusive: bool
    nodes_max: int
    walltime_max_s: int
    shared_twin: str | None = None
    default_memory_gb: float | None = None


@dataclass(frozen=True)
class Cluster:
    """`threads_per_core`: how many of Slurm's CPUs (hardware threads) make one physical core."""

    partitions: Mapping[str, Partition]
    threads_per_core: int


DAY_S = 86_400

# LUMI user guide, "LUMI-G" and "LUMI-G job examples" (2024-10): 8 GCDs of 64 GB, 64 cores of which low-noise
# mode leaves 56; Slurm RealMemory 491520 MB = 480 GiB (LUMI training materials, "Slurm on LUMI", 2026-04). Power cap
# of a module: rocm-smi on LUMI-G, 2025/26.
LUMI_G = NodeType(
    gpus=8, cores=56, host_memory_gb=480.0, gpu_memory_gb=64.0, gpus_per_module=2, module_power_cap_w=500.0
)

# LUMI user guide, "Slurm partitions" (2024-10): maximum nodes and walltime. DefMemPerNode of small-g is 65536 MB
# (scontrol show partition, LUMI training materials, 2023).
CLUSTERS: Mapping[str, Cluster] = MappingProxyType(
    {
        "lumi": Cluster(
            threads_per_core=2,
            partitions=MappingProxyType(
                {
                    "standard-g": Partition(LUMI_G, True, 1024, 2 * DAY_S, shared_twin="small-g"),
                    "small-g": Partition(LUMI_G, False, 4, 3 * DAY_S, default_memory_gb=64.0),
                    "dev-g": Partition(LUMI_G, False, 32, 3 * 3600),
                }
            ),
        )
    }
)


def partition_of(cluster: str, partition: str) -> Partition | None:
    """The partition's description, or None where this hardware is not known.

    >>> partition_of("lumi", "small-g").node.cores_per_gpu
    7
    >>> partition_of("lumi", "lumid") is None
    True
    """
    known = CLUSTERS.get(cluster)
    return known.partitions.get(partition) if known else None


def threads_per_core(cluster: str) -> int:
    """Slurm CPUs per physical core; 1 for a cluster that is not described."""
    known = CLUSTERS.get(cluster)
    return known.threads_per_core if known else 1
