"""GPUs of a running job that show as busy and draw little power: kernels that wait in a loop that never ends."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.causes.progress import busy_time, clock_of, flat_progress
from analysis.early.facts import EarlyFacts
from analysis.early.findings import EarlyCode, EarlyFinding
from analysis.early.stretches import is_heard, is_worth_a_word, mean_use
from analysis.early.thresholds import EARLY_LIMITS, EarlyLimits
from analysis.facts import divide
from analysis.findings import confidence, margin_above, margin_below
from analysis.module_power import gpus_per_module, highest_of
from analysis.progress.logged import progress_s
from analysis.progress.stops import stayed_busy, stopped
from analysis.validation import module_groups
from metrics.series import Floats


@dataclass(frozen=True)
class LastPower:
    """The modules `(M,)` whose GPUs are all the job's, over the last stretch: busy percent, power and its cap.

    `steady_fraction` `(M,)` is in how many parts of the last time the less steady GPU was busy nearly all the time,
    `fell_by` how many times as much power all GPUs drew over the job so far.
    """

    busy_percent: Floats
    power_w: Floats
    cap_w: Floats
    known_fraction: float
    steady_fraction: Floats
    fell_by: float

    @property
    def power_fraction(self) -> Floats:
        return divide(self.power_w, self.cap_w)


def spinning(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> EarlyFinding | None:
    """GPUs that are busy all the time at low power for most of an hour: likely a hang. Where steps were logged, these
    must have stopped too, and then it was counted."""
    if not is_worth_a_word(facts, limits) or not facts.run.gpus.count:
        return None
    power = _last_power(facts, limits)
    flat = _flat(facts, power, limits)
    if flat is not None:
        evidence = (_power_evidence(power) if power else {}) | flat
        return EarlyFinding(EarlyCode.SPINNING, 1.0, _of_job(facts) | evidence, is_fact=True)
    if power is None or facts.is_interactive or _gets_on(facts) or not _all_spin(power, limits):
        return None
    sure = confidence(
        power.known_fraction,
        margin_above(float(np.max(power.busy_percent)), limits.spinning_changed_busy_percent, 100.0),
        margin_below(float(np.mean(power.power_fraction)), limits.spinning_power_fraction),
    )
    since_s = max(float(np.nanmin(facts.recent.until_s - _spans_s(facts, limits))), 0.0)
    spins = {"since_s": since_s, "spinning_s": float(np.nanmin(_spans_s(facts, limits)))}
    return EarlyFinding(EarlyCode.SPINNING, sure, _of_job(facts) | _power_evidence(power) | spins)


def _spans_s(facts: EarlyFacts, limits: EarlyLimits) -> Floats:
    """How long the judged stretch of each node `(N,)` is: the last one, or the whole run where that is short."""
    is_short = facts.recent.span_s < limits.spinning_s
    return np.where(is_short, facts.recent.until_s, facts.recent.span_s)


def _last_power(facts: EarlyFacts, limits: EarlyLimits) -> LastPower | None:
    """Power by module over the judged stretch; None where any node is not heard or none of its power is known.

    Of a younger run nothing is judged; a short last stretch must be as low as the whole.
    """
    run = facts.run
    spans_s = _spans_s(facts, limits)
    if not np.all(is_heard(facts, limits)) or not np.all(spans_s >= limits.spinning_s):
        return None
    is_short = (facts.recent.span_s < limits.spinning_s)[run.gpus.node_index]
    power_w = np.where(is_short, np.fmax(run.gpus.power_avg_w, facts.recent.power_w), facts.recent.power_w)
    use = _use_over(facts, np.minimum(spans_s, limits.spinning_s))
    module, gpus = module_groups(run.gpus)
    lowest, steady = _lowest(module, gpus.size, use), _lowest(module, gpus.size, _steady_fraction(facts, limits))
    watts, cap_w = highest_of(module, power_w), highest_of(module, run.gpus.power_cap_w)
    if run.partition is not None:
        cap_w = np.where(np.isnan(cap_w), run.partition.node.module_power_cap_w, cap_w)
    is_known = (gpus == gpus_per_module(run)) & (watts > 0) & (cap_w > 0) & np.isfinite(lowest)
    if not np.any(is_known):
        return None
    share = float(np.mean(is_known))
    return LastPower(lowest[is_known], watts[is_known], cap_w[is_known], share, steady[is_known], _fell_by(facts))


def _fell_by(facts: EarlyFacts) -> float:
    """How many times the power of the last stretch the whole job drew on average."""
    whole_w, last_w = facts.run.gpus.power_avg_w, facts.recent.power_w
    both = ~np.isnan(whole_w) & (last_w > 0)
    return float(np.mean(whole_w[both]) / np.mean(last_w[both])) if np.any(both) else 1.0


def _steady_fraction(facts: EarlyFacts, limits: EarlyLimits) -> Floats:
    """In how many of the last parts of the time each GPU `(G,)` was busy nearly all the time; 0 of too few."""
    step_s, util = facts.run.series.step_s, facts.run.series.util
    parts = max(round(limits.spinning_s / step_s), limits.spinning_parts_min) if step_s > 0 else 0
    last = util[util.shape[0] - parts :] if 0 < parts <= util.shape[0] else util[:0]
    known = np.count_nonzero(~np.isnan(last), axis=0)
    steady = np.count_nonzero(last >= limits.spinning_part_percent, axis=0)
    return np.where(known >= limits.spinning_parts_min, steady / np.maximum(known, 1), 0.0)


def _use_over(facts: EarlyFacts, spans_s: Floats) -> Floats:
    """Mean busy percent of each GPU `(G,)` over the judged stretch of its node."""
    use = np.full(facts.run.gpus.count, np.nan)
    for span_s in np.unique(spans_s):
        chosen = spans_s[facts.run.gpus.node_index] == span_s
        use[chosen] = mean_use(facts, float(span_s))[chosen]
    return use


def _all_spin(power: LastPower, limits: EarlyLimits) -> bool:
    """Whether nearly all modules are busy at low power without a gap, and none works.

    Where power did not fall, they may have begun to wait at once, or work in small kernels: then they must be busier.
    """
    is_low = power.power_fraction < limits.spinning_power_fraction
    is_steady = power.steady_fraction >= limits.spinning_parts_fraction
    spins = is_low & is_steady & (power.busy_percent >= limits.spinning_changed_busy_percent)
    if not np.all(is_low) or float(np.mean(spins)) < limits.spinning_modules_fraction:
        return False
    has_changed = power.fell_by >= limits.spinning_changed_power
    return has_changed or float(np.mean(power.busy_percent[spins])) >= limits.spinning_busy_percent


def _waits(power: LastPower, limits: EarlyLimits) -> bool:
    """Whether nearly all modules are busy and none draws the power of work: enough beside steps that stopped."""
    is_low = power.power_fraction < limits.flat_power_fraction
    is_busy = power.busy_percent >= limits.flat_busy_percent
    return bool(np.all(is_low)) and float(np.mean(is_busy)) >= limits.spinning_modules_fraction


def _flat(facts: EarlyFacts, power: LastPower | None, limits: EarlyLimits) -> dict[str, float | int | str] | None:
    """The evidence of a step counter that has stood still for an hour while the GPUs stayed busy.

    Low power in the last stretch settles that they wait. Where it is not known, their use must have become steady when
    the steps stopped, since points may just have been lost.
    """
    if power is None:
        flat = flat_progress(facts.run, facts.run.limits, is_power_low=None)
        is_long = flat is not None and float(flat["flat_s"]) >= limits.flat_s
        return {"since_s": flat["since_s"], "flat_s": flat["flat_s"]} if flat and is_long else None
    clock = clock_of(facts.run)
    stop = stopped(facts.run.logged, clock, facts.run.limits) if clock else None
    if clock is None or stop is None or stop.silent_s < limits.flat_s or not _waits(power, limits):
        return None
    if not stayed_busy(stop, busy_time(facts.run), clock, facts.run.limits):
        return None
    return {"since_s": stop.since_s, "flat_s": stop.silent_s}


def _gets_on(facts: EarlyFacts) -> bool:
    """Whether a script logged steps in this job: then they decide, and not power alone."""
    clock = clock_of(facts.run)
    return clock is not None and any(progress_s(run, clock).size for run in facts.run.logged)


def _lowest(module: NDArray[np.int64], modules: int, values: Floats) -> Floats:
    """The lowest value of the GPUs of each module `(M,)`; minus infinity where one is not known."""
    lowest = np.full(modules, np.inf)
    np.minimum.at(lowest, module, np.where(np.isnan(values), -np.inf, values))
    return lowest


def _of_job(facts: EarlyFacts) -> dict[str, float | int | str]:
    return {"gpus": facts.run.gpus.count, "nodes": len(facts.run.nodes), "node": facts.run.nodes[0]}


def _power_evidence(power: LastPower) -> dict[str, float | int | str]:
    return {
        "busy_percent": float(np.mean(power.busy_percent)),
        "power_w": float(np.mean(power.power_w)),
        "cap_w": float(np.mean(power.cap_w)),
        "power_fraction": float(np.mean(power.power_fraction)),
        "modules": int(power.power_w.size),
    }
