"""What the sentences of a finding need to know about the run, in addition to the finding's own evidence."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.causes.spread import HELD_MEMORY_GB
from analysis.facts import JobFacts
from analysis.module_power import gpus_per_module
from analysis.thresholds import LIMITS
from reports.numbers import share
from reports.vendor import ANY, Tools, short_test, tools_of
from wire.numbers import counted, duration

Evidence = Mapping[str, Any]

NEARLY_ALL = 0.95
"""From this measured share of the GPU time on, a sentence speaks of the whole run."""


@dataclass(frozen=True)
class Room:
    """Whether GPU memory allows a step; None where it was not measured.

    `fits_half`: the peaks of all GPUs together fit on half of them; `can_grow`: a larger batch fits too.
    """

    fits_half: bool | None = None
    can_grow: bool | None = None


@dataclass(frozen=True)
class Run:
    """`has_idled`: no measured GPU ever had work; `advised_gpus`: the smaller count that the report suggests, if any.

    `cores_per_gpu` come with each GPU, None where that is not known, and `cores` were allocated; `held_memory_gb` is
    the highest GPU memory of one GPU, None where it was not measured or was only that of a GPU context.
    """

    tools: Tools = ANY
    nodes: int = 1
    gpus: int = 1
    gpus_per_module: int = 1
    cores: int = 0
    cores_per_gpu: int | None = None
    held_memory_gb: float | None = None
    coverage_fraction: float = 1.0
    room: Room = Room()
    short_test: str = "a short test job"
    partition: str = ""
    gives_whole_nodes: bool = True
    has_longest_limit: bool = False
    has_idled: bool = False
    advised_gpus: int | None = None

    def time(self, elapsed_s: float) -> str:
        """The time that a share refers to: the run, or the part of it that was measured."""
        if self.coverage_fraction >= NEARLY_ALL:
            return duration(elapsed_s)
        return f"the measured time ({share(self.coverage_fraction)} of {duration(elapsed_s)})"

    @property
    def or_fewer(self) -> str:
        """The alternative of fewer GPUs, where the report suggests it."""
        return f", or request {counted(self.advised_gpus, 'GPU')} as suggested" if self.advised_gpus else ""


def run_view(facts: JobFacts, advised_gpus: int | None = None) -> Run:
    """The values of one run that the sentences use."""
    record, partition = facts.record, facts.partition
    limit_s, longest_s = record.walltime_requested_s, partition.walltime_max_s if partition else None
    peak_gb = float(np.nanmax(facts.gpus.peak_mem_gb)) if np.any(~np.isnan(facts.gpus.peak_mem_gb)) else 0.0
    return Run(
        tools=tools_of(record.cluster, record.partition),
        nodes=facts.held.nodes,
        gpus=facts.allocated_gpus,
        gpus_per_module=gpus_per_module(facts),
        cores=facts.held.cores,
        cores_per_gpu=partition.node.cores_per_gpu if partition else None,
        held_memory_gb=peak_gb if peak_gb >= HELD_MEMORY_GB else None,
        coverage_fraction=facts.coverage_fraction,
        room=_room(facts),
        short_test=short_test(record.cluster),
        partition=record.partition,
        gives_whole_nodes=partition is None or partition.is_exclusive,
        has_longest_limit=bool(limit_s and longest_s and limit_s >= longest_s),
        has_idled=facts.gpus.count > 0 and not np.any(facts.did_work),
        advised_gpus=advised_gpus,
    )


def _room(facts: JobFacts) -> Room:
    peaks_gb, capacities_gb = facts.gpus.peak_mem_gb, facts.memory_capacity_gb
    is_known = ~np.isnan(peaks_gb) & ~np.isnan(capacities_gb)
    if not np.any(is_known):
        return Room()
    usable_gb = LIMITS.memory_fill_fraction * float(np.min(capacities_gb[is_known])) * (facts.allocated_gpus // 2)
    is_full = float(np.sum(peaks_gb[is_known])) > usable_gb
    is_all = int(np.sum(is_known)) >= facts.allocated_gpus
    highest = float(np.max(facts.memory_fractions[is_known]))
    return Room(
        fits_half=False if is_full else True if is_all else None,
        can_grow=highest <= LIMITS.tuning_memory_fraction_max,
    )
