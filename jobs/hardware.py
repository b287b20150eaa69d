"""The hardware: GPUs, nodes and partitions of each cluster that can be judged fully.

They come from the site's profile, which `jobs.apps` loads at the start; LUMI's by default. A GPU here is
what Slurm counts as one: on LUMI-G one die (GCD), half of an MI250X module. A cluster or partition that the profile
does not describe (another site, LUMI's `lumid`) is judged on measured use alone.
"""

from collections.abc import Mapping
from functools import cache

from jobs.site_profile import Cluster, Site, bundled_site
from jobs.site_profile import Partition as Partition

_chosen: list[Site] = []
_default = cache(bundled_site)


def use_site(profile: Site | None) -> None:
    """Set the site from now on; None sets LUMI again."""
    _chosen[:] = [profile] if profile else []


def site() -> Site:
    """The chosen site, else LUMI.

    >>> site().name
    'LUMI'
    """
    return _chosen[0] if _chosen else _default()


def clusters() -> Mapping[str, Cluster]:
    """The site's clusters by Slurm's name of them."""
    return site().clusters


def partition_of(cluster: str, partition: str) -> Partition | None:
    """The partition's description, or None where this hardware is not known.

    >>> partition_of("lumi", "small-g").node.cores_per_gpu
    7
    >>> partition_of("lumi", "lumid") is None
    True
    """
    known = clusters().get(cluster)
    return known.partitions.get(partition) if known else None


def threads_per_core(cluster: str) -> int:
    """Slurm CPUs per physical core; 1 for a cluster that is not described."""
    known = clusters().get(cluster)
    return known.threads_per_core if known else 1


def vendor_of(cluster: str, partition: str) -> str:
    """The vendor of the partition's GPUs: "amd", "nvidia", or "" where that is not known.

    >>> vendor_of("lumi", "small-g"), vendor_of("lumi", "lumid")
    ('amd', '')
    """
    known = partition_of(cluster, partition)
    return known.node.vendor if known else ""
