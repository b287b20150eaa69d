"""The shape of the second examination: noise in every reading, its seeds from the name of a situation."""

from __future__ import annotations

import zlib
from dataclasses import replace

import numpy as np

from cases.drawing import Described
from cases.early.cutting import Host
from cases.readings import Node
from cases.shapes import curves, situations
from cases.shapes.situations import HostSide

CORES_PER_GPU, GB_PER_GPU = 7, 60.0
"""What LUMI advises for each GPU of a shared node; a whole node has 56 cores and 480 GB."""
LOST_SHARE, BLIP_SHARE = 0.005, 0.001
"""Samples that were not read, and samples of an idle GPU that show 1 % because somebody looked at it."""


class Side(Described, frozen=True):
    """The host of a node: busy cores, GB of memory (None: not read), the limit in GB (None: 60 for each GPU), page
    cache in GB. `has_limit` False: the limit was not read."""

    busy: curves.Shape = 0.0
    memory_gb: curves.Shape | None = None
    limit_gb: float | None = None
    cache_gb: float = 0.0
    has_limit: bool = True
    is_read: bool = True


def rough(node: Node, seed: str) -> Node:
    """The same node with GPUs that differ, short stalls, power that jitters and samples that were not read."""
    rng = np.random.default_rng(zlib.crc32(f"rough {seed}".encode()))
    shape = node.util.shape
    own = rng.normal(0, 1.0, shape[1]) + rng.normal(0, 2.0, shape)
    stalled = np.where((rng.random((shape[0], 1)) < 0.01) & (node.util < 97), 0.3, 1.0)
    blips = np.where(rng.random(shape) < BLIP_SHARE, 1.0, node.util)
    util = np.where(
        node.util > 0, np.clip((node.util + own) * stalled, 2, 100), np.where(node.util == 0, blips, np.nan)
    )
    lost = rng.random(shape[0]) < LOST_SHARE
    util[lost] = np.nan
    mem_gb = np.clip(node.mem_gb + rng.normal(0, 0.04, shape), 0.02, 63.95)
    never = np.asarray(np.all(node.util == 0, axis=0))
    if not np.all(never):
        mem_gb[:, never] = 0.05
    mem_gb[lost] = np.nan
    power_w = node.power_w
    if power_w is not None:
        power_w = power_w * rng.normal(1, 0.02, power_w.shape)
        power_w[lost] = np.nan
    return replace(node, util=util, mem_gb=mem_gb, power_w=power_w)


def host(side: Side, gpus: int, elapsed_h: float, seed: str) -> Host | None:
    """The host of a node with so many GPUs."""
    limit_gb = side.limit_gb or GB_PER_GPU * gpus
    clean = situations.host(
        HostSide(elapsed_h, side.busy, side.memory_gb, limit_gb, CORES_PER_GPU * gpus, side.cache_gb, side.is_read)
    )
    if clean is None:
        return None
    rng = np.random.default_rng(zlib.crc32(f"host {seed}".encode()))
    busy = np.clip(clean.busy_cores * rng.normal(1, 0.08, clean.busy_cores.size), 0.01, clean.cores)
    memory_gb = clean.memory_gb
    if memory_gb is not None:
        memory_gb = np.clip(memory_gb * rng.normal(1, 0.006, memory_gb.size), 0.1, limit_gb)
        memory_gb[rng.random(memory_gb.size) < LOST_SHARE] = np.nan
    return replace(clean, busy_cores=busy, memory_gb=memory_gb, limit_gb=limit_gb if side.has_limit else None)
