"""The class of a run as people read it: a run whose use is not judged has none, whatever its mean use was."""

from __future__ import annotations

from analysis.efficiency import EfficiencyClass
from analysis.models import JobEfficiency
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
    return class_of(judged)


def class_of(judged: JobEfficiency) -> str:
    """The class of a judgement as a value of `SHOWN_NAMES`."""
    is_open = judged.uncounted_reason or judged.ended_early
    return OPEN if is_open and judged.efficiency_class != UNKNOWN else judged.efficiency_class


def class_for_programs(run: Job) -> str:
    """The same as `analysis.efficiency.EfficiencyClass`, UNKNOWN where the use is not judged."""
    name = shown_class(run)
    return UNKNOWN if name == OPEN else name
