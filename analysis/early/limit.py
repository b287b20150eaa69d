"""A time limit that ends a running job before its work is done: by its logged progress, or by its earlier runs."""

import numpy as np

from analysis.causes.progress import clock_of
from analysis.early.facts import EarlyFacts
from analysis.early.findings import EarlyCode, EarlyFinding
from analysis.early.thresholds import EARLY_LIMITS, EarlyLimits
from analysis.early.totals import Progress, progress_of
from analysis.findings import confidence
from analysis.progress.names import words_of
from jobs.work_key import is_trial
from metrics.series import Floats

PART_WORDS = frozenset("resume resumed restart restarted continue continued cont chain chained part segment".split())
"""Words in the names of jobs that are one of several parts of some work."""


def limit_too_short(facts: EarlyFacts, limits: EarlyLimits = EARLY_LIMITS) -> EarlyFinding | None:
    """The work needs clearly longer than its limit; nothing is said of work that restarts from checkpoints by design.

    Earlier runs of the same work that ended at their limit, or a counter that went on from one, show such a design.
    """
    record = facts.run.record
    if facts.time_limit_s is None or not facts.left_s or facts.is_interactive or is_trial(record.job_name):
        return None
    if any(run.is_cut for run in facts.earlier) or _goes_on_by_design(facts, facts.time_limit_s):
        return None
    known = _progress(facts, limits)
    if known is not None:
        return _by_progress(facts, known, facts.time_limit_s, limits)
    return _by_earlier_runs(facts, facts.time_limit_s, limits)


def _ends_before_its_total(facts: EarlyFacts, needs_s: float, limits: EarlyLimits) -> bool:
    """Whether earlier runs of the same work on as many GPUs ended so much sooner that slower steps do not explain it:
    the total is then not always reached, as where training stops early."""
    took_s = [run.elapsed_s for run in facts.earlier if run.gpus == facts.run.allocated_gpus]
    return bool(took_s) and needs_s > limits.limit_slower_max * max(took_s)


def _goes_on_by_design(facts: EarlyFacts, time_limit_s: float) -> bool:
    """Whether the job is a part of longer work: it has the longest limit that there is, or is named as a part."""
    partition = facts.run.partition
    longest_s = partition.walltime_max_s if partition else None
    has_longest = longest_s is not None and time_limit_s >= longest_s
    return has_longest or not PART_WORDS.isdisjoint(words_of(facts.run.record.job_name))


def _progress(facts: EarlyFacts, limits: EarlyLimits) -> Progress | None:
    """How far the only run in the job is."""
    clock = clock_of(facts.run)
    if clock is None or len(facts.run.logged) != 1:
        return None
    return progress_of(facts.run.logged[0], clock, limits)


def _by_progress(facts: EarlyFacts, known: Progress, time_limit_s: float, limits: EarlyLimits) -> EarlyFinding | None:
    """What is left, at the fastest and the slowest rate of the parts of the time since the first logged step."""
    rates = _rates(known, limits)
    if rates is None or known.left <= 0 or float(known.counts[0]) > limits.limit_resumed_fraction * known.total:
        return None
    now_s = float(known.at_s[-1])
    low_s = now_s + known.left / float(np.max(rates))
    high_s = now_s + (known.left + 2 * known.slack) / float(np.min(rates))
    if low_s < limits.limit_progress_factor * time_limit_s or low_s > limits.limit_factor_max * time_limit_s:
        return None
    if _ends_before_its_total(facts, low_s, limits):
        return None
    return EarlyFinding(
        EarlyCode.LIMIT_TOO_SHORT,
        _sure(low_s, limits.limit_progress_factor * time_limit_s),
        {
            "since_s": float(known.at_s[0]),
            "time_limit_s": time_limit_s,
            "needs_s_low": low_s,
            "needs_s_high": high_s,
            "unit": known.unit.value,
            "steps_done": float(known.counts[-1]),
            "steps_total": known.total,
        },
    )


def _rates(known: Progress, limits: EarlyLimits) -> Floats | None:
    """Counts a second in equal parts of the time, the first of them left out: it holds the start; and over all of it.

    None where too little time was seen, or where the counter ever went back or stood still for a part.
    """
    span_s = float(known.at_s[-1] - known.at_s[0])
    if span_s < limits.limit_progress_s or np.any(np.diff(known.counts) < 0):
        return None
    edges_s = np.linspace(known.at_s[0], known.at_s[-1], limits.limit_blocks + 1)[1:]
    counts = np.interp(edges_s, known.at_s, known.counts)
    rates = np.append(np.diff(counts) / np.diff(edges_s), (counts[-1] - known.counts[0]) / span_s)
    is_speeding_up = rates[-2] > limits.limit_speed_up * float(np.max(rates[:-2]))
    return rates if np.all(rates > 0) and not is_speeding_up else None


def _by_earlier_runs(facts: EarlyFacts, time_limit_s: float, limits: EarlyLimits) -> EarlyFinding | None:
    """The shortest of at least three completed runs of the same work on as many GPUs took clearly longer, and half of
    the limit has passed."""
    took_s = [run.elapsed_s for run in facts.earlier if run.gpus == facts.run.allocated_gpus]
    is_early = facts.ran_s < limits.limit_earlier_ran_fraction * time_limit_s
    if (
        is_early
        or len(took_s) < limits.limit_earlier_runs_min
        or max(took_s) > limits.limit_earlier_spread * min(took_s)
    ):
        return None
    if not limits.limit_earlier_factor * time_limit_s <= min(took_s) <= limits.limit_factor_max * time_limit_s:
        return None
    return EarlyFinding(
        EarlyCode.LIMIT_TOO_SHORT,
        _sure(min(took_s), limits.limit_earlier_factor * time_limit_s),
        {
            "since_s": 0.0,
            "time_limit_s": time_limit_s,
            "needs_s_low": min(took_s),
            "needs_s_high": max(took_s),
            "earlier_runs": len(took_s),
            "gpus": facts.run.allocated_gpus,
        },
    )


def _sure(needs_s: float, least_s: float) -> float:
    """Most where it takes twice as long as what is just enough for a word."""
    return confidence(1.0, needs_s / least_s - 1)
