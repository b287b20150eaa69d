"""The class of a run as people read it: a run whose use is not judged has none, whatever its mean use was."""

from __future__ import annotations

from analysis.efficiency import EfficiencyClass
from analysis.facts import EARLY_ENDS
from analysis.models import JobEfficiency
from analysis.thresholds import LIMITS
from jobs.models import Job
from reports.sections import CLASS_NAMES, NOT_JUDGED

OPEN = "NOT_JUDGED"
UNKNOWN = EfficiencyClass.UNKNOWN.value
SHOWN_NAMES = {**CLASS_NAMES, OPEN: NOT_JUDGED}
"""By the value in an address or a file; the order is that of the classes."""


def shown_class(run: Job) -> str:
    """The class of an analysed run as a value of `SHOWN_NAMES`; empty where it is not analysed."""
    judged = getattr(run, "efficiency", None)
    if judged is None:
        return ""
    elapsed_s = run.walltime_used_s
    if elapsed_s is None and run.started_at and run.ended_at:
        elapsed_s = (run.ended_at - run.started_at).total_seconds()
    return class_of(judged, run.state, elapsed_s)


def class_of(judged: JobEfficiency, state: str, elapsed_s: float | None) -> str:
    """The class of a judgement as a value of `SHOWN_NAMES`; `state` and `elapsed_s` are those of its run."""
    ended_early = state in EARLY_ENDS and elapsed_s is not None and elapsed_s < LIMITS.early_end_s
    is_open = judged.uncounted_reason or ended_early
    return OPEN if is_open and judged.efficiency_class != UNKNOWN else judged.efficiency_class


def class_for_programs(run: Job) -> str:
    """The same as `analysis.efficiency.EfficiencyClass`, UNKNOWN where the use is not judged."""
    name = shown_class(run)
    return UNKNOWN if name == OPEN else name
