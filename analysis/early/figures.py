"""What is shown of a running job: use so far, since when it is idle, memory beside its limits, its nodes; pure."""

from dataclasses import dataclass
from typing import Any

import msgspec
import numpy as np

from analysis.early.facts import EarlyFacts
from analysis.facts import divide
from metrics.series import Floats, highest

POINTS_MAX = 60
"""Points of the line of use over time, for a small picture."""

NODES_NAMED_MAX = 20
IDLE_PERCENT = 1.0
"""A GPU is idle up to this busy percent (design/domain.md, section 1)."""


@dataclass(frozen=True)
class NodeHeard:
    """One node and the second of the job until which it was measured."""

    node: str
    until_s: float


@dataclass(frozen=True)
class RunningFigures:
    """A running job, measured until `until_s` after its start; None is not measured.

    `active_gpus` have worked at some time. `idle_since_s` is since when no GPU did anything, None while one works.
    `use` are means over all GPUs in parts of `step_s`, None where nothing was measured. `host_peak_gb` is that of the
    fullest node (2^30 bytes, without page cache), `host_limit_gb` its limit. `longest_silent` are the nodes that were
    heard least lately.
    """

    until_s: float
    gpus: int
    use_percent: float | None
    active_gpus: int | None
    idle_since_s: float | None
    gpu_peak_gb: float | None
    gpu_capacity_gb: float | None
    host_peak_gb: float | None
    host_limit_gb: float | None
    nodes: int
    nodes_expected: int
    step_s: float
    use: tuple[float | None, ...]
    longest_silent: tuple[NodeHeard, ...] = ()


def figures_from(stored: dict[str, Any]) -> RunningFigures | None:
    """Stored figures as a value; None where there are none yet, or where another version stored others."""
    try:
        return msgspec.convert(stored, RunningFigures, strict=False) if stored else None
    except msgspec.ValidationError:
        return None


def running_figures(facts: EarlyFacts) -> RunningFigures:
    """The figures of a running job from what was measured so far."""
    run = facts.run
    step_s, use = _line(run.series.util, run.series.step_s)
    fullest = _fullest(run.gpus.peak_mem_gb, run.memory_capacity_gb)
    host = _fullest(run.host_peaks_gb, run.hosts.memory_limit_gb)
    worked = np.count_nonzero(run.did_work) if run.gpus.count else None
    return RunningFigures(
        until_s=run.elapsed_s,
        gpus=run.allocated_gpus,
        use_percent=run.avg_gpu_util,
        active_gpus=None if worked is None else int(worked),
        idle_since_s=idle_since_s(facts),
        gpu_peak_gb=fullest[0],
        gpu_capacity_gb=fullest[1],
        host_peak_gb=host[0],
        host_limit_gb=host[1],
        nodes=len(run.nodes),
        nodes_expected=max(run.record.node_count or 0, len(run.nodes)),
        step_s=step_s,
        use=use,
        longest_silent=_longest_silent(facts),
    )


def idle_since_s(facts: EarlyFacts) -> float | None:
    """Since when no measured GPU did anything, by the use over time; None while one works or where it is not known.

    Each GPU counts until its own last sample: nodes send at different times.
    """
    util, step_s = facts.run.series.util, facts.run.series.step_s
    if not util.size or not step_s:
        return None
    is_known = ~np.isnan(util)
    if not np.all(np.any(is_known, axis=0)):
        return None
    is_busy = np.nan_to_num(util) > IDLE_PERCENT
    last_known = util.shape[0] - 1 - np.argmax(is_known[::-1], axis=0)
    if np.any(is_busy[last_known, np.arange(util.shape[1])]):
        return None
    last_busy = np.where(np.any(is_busy, axis=0), util.shape[0] - np.argmax(is_busy[::-1], axis=0), 0)
    return float(np.max(last_busy) * step_s)


def _line(util: Floats, step_s: float) -> tuple[float, tuple[float | None, ...]]:
    """Mean use over all GPUs in at most `POINTS_MAX` equal parts, and their length in seconds."""
    if not util.size:
        return 0.0, ()
    width = -(-util.shape[0] // POINTS_MAX)
    parts = (util[first : first + width] for first in range(0, util.shape[0], width))
    means = (None if np.all(np.isnan(part)) else round(float(np.nanmean(part)), 1) for part in parts)
    return step_s * width, tuple(means)


def _fullest(used_gb: Floats, capacity_gb: Floats) -> tuple[float | None, float | None]:
    """Peak and capacity of the GPU or node whose peak is the largest share of it; without one the largest peak."""
    shares = divide(used_gb, capacity_gb)
    if not np.any(~np.isnan(shares)):
        return highest(used_gb), None
    place = int(np.nanargmax(shares))
    return float(used_gb[place]), float(capacity_gb[place])


def _longest_silent(facts: EarlyFacts) -> tuple[NodeHeard, ...]:
    until_s = np.nan_to_num(facts.recent.until_s, nan=0.0)
    order = np.argsort(until_s, kind="stable")[:NODES_NAMED_MAX]
    return tuple(NodeHeard(facts.run.nodes[place], float(until_s[place])) for place in order)
