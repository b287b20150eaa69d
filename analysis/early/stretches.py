"""Since when each GPU of a running job has had no work, by its own timeline; pure.

Shapes as in `analysis.early.facts`. A part of the timeline that was not measured is neither work nor idle time.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.early.facts import EarlyFacts
from analysis.early.thresholds import EarlyLimits
from metrics.series import Floats


@dataclass(frozen=True)
class IdleStretches:
    """`since_s` `(G,)` is when the last work of each GPU ended, 0 where it never had any, `idle_s` `(G,)` how long it
    has been idle until its own last sample; NaN in both where too little of that was measured. `has_worked` `(G,)`."""

    since_s: Floats
    idle_s: Floats
    has_worked: NDArray[np.bool_]


def idle_stretches(facts: EarlyFacts, limits: EarlyLimits) -> IdleStretches:
    """The idle time of each GPU that lasts until its node's last sample."""
    util, step_s = facts.run.series.util, facts.run.series.step_s
    until_s = facts.gpu_until_s
    parts = util.shape[0]
    if not parts or step_s <= 0:
        unknown = np.full(util.shape[1], np.nan)
        return IdleStretches(unknown, unknown, np.zeros(util.shape[1], dtype=bool))
    works = work_parts(util, step_s, limits)
    has_worked = np.any(works, axis=0)
    first_idle = np.where(has_worked, parts - np.argmax(works[::-1], axis=0), 0)
    since_s = first_idle * step_s
    after = np.arange(parts)[:, None] >= first_idle
    measured_s = np.count_nonzero(after & ~np.isnan(util), axis=0) * step_s
    idle_s = until_s - since_s
    # The last part of the timeline may not be complete yet.
    is_known = (measured_s + step_s >= limits.idle_measured_fraction * idle_s) & (idle_s > 0)
    return IdleStretches(np.where(is_known, since_s, np.nan), np.where(is_known, idle_s, np.nan), has_worked)


def work_parts(util: Floats, step_s: float, limits: EarlyLimits) -> NDArray[np.bool_]:
    """In which parts of the timeline `(T, G)` each GPU worked: a single part of hardly any use between idle ones, as of
    a monitoring call, is none of them."""
    works = util > limits.idle_util_percent
    beside = np.zeros_like(works)
    beside[1:] |= works[:-1]
    beside[:-1] |= works[1:]
    return np.asarray(works & (beside | (util / 100 * step_s >= limits.blip_s)), dtype=bool)


def longest_pause_s(facts: EarlyFacts, limits: EarlyLimits) -> float:
    """The longest time between two stretches of work in which no GPU was measured at work; 0 where there was none."""
    util, step_s = facts.run.series.util, facts.run.series.step_s
    if not util.size:
        return 0.0
    works = np.flatnonzero(np.any(work_parts(util, step_s, limits), axis=1))
    if works.size < 2:
        return 0.0
    return float(np.max(np.diff(works)) - 1) * step_s


def is_heard(facts: EarlyFacts, limits: EarlyLimits) -> NDArray[np.bool_]:
    """Which nodes `(N,)` sent something lately."""
    return np.asarray(facts.ran_s - facts.recent.until_s <= limits.heard_s, dtype=bool)


def is_worth_a_word(facts: EarlyFacts, limits: EarlyLimits) -> bool:
    """Whether enough time is left to change something."""
    return facts.left_s is None or facts.left_s >= limits.left_min_s


def first_work_s(facts: EarlyFacts, limits: EarlyLimits) -> Floats:
    """When the first work of each GPU `(G,)` began; infinite where it had none."""
    works = work_parts(facts.run.series.util, facts.run.series.step_s, limits)
    if not works.size:
        return np.full(works.shape[1], np.inf)
    return np.where(np.any(works, axis=0), np.argmax(works, axis=0) * facts.run.series.step_s, np.inf)


def mean_use(facts: EarlyFacts, last_s: float) -> Floats:
    """Mean busy percent of each GPU `(G,)` over its last seconds; NaN where nothing was measured then."""
    util, step_s = facts.run.series.util, facts.run.series.step_s
    if not util.size:
        return np.full(util.shape[1], np.nan)
    middles_s = (np.arange(util.shape[0]) + 0.5) * step_s
    chosen = (middles_s[:, None] >= facts.gpu_until_s - max(last_s, step_s)) & ~np.isnan(util)
    counts = np.count_nonzero(chosen, axis=0)
    sums = np.sum(np.where(chosen, util, 0.0), axis=0)
    return np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)


def last_memory_gb(facts: EarlyFacts) -> Floats:
    """The last measured memory in use of each GPU `(G,)`, 2^30 bytes; NaN where none was."""
    mem_gb = facts.run.series.mem_gb
    if not mem_gb.size:
        return np.full(mem_gb.shape[1], np.nan)
    known = ~np.isnan(mem_gb)
    last = mem_gb.shape[0] - 1 - np.argmax(known[::-1], axis=0)
    found: Floats = np.where(np.any(known, axis=0), mem_gb[last, np.arange(mem_gb.shape[1])], np.nan)
    return found
