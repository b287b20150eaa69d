"""The failed runs of a work as people read them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from analysis.findings import FindingCode
from analysis.works.failure_sizes import FailureSize
from analysis.works.failures import Failures, SharedTrait
from portal.charts.typical_run import size_sentence
from reports.numbers import counted, duration, gigabytes, share
from reports.wording import TITLES


@dataclass(frozen=True)
class FailureList:
    """The counts, and what the failed runs had in common, sentence by sentence."""

    of: Failures
    common: tuple[str, ...]


def failure_list(failed: Failures, sizes: Iterable[FailureSize] = ()) -> FailureList:
    """The states with their sentences, those about sizes first."""
    findings = tuple(
        f"{TITLES[FindingCode(code)]}: found in {runs:,} of {counted(failed.judged, 'failed run')} with a report."
        for code, runs in failed.findings
        if code in TITLES
    )
    return FailureList(
        failed, (*(size_sentence(found) for found in sizes), *(_sentence(trait) for trait in failed.traits), *findings)
    )


def _sentence(trait: SharedTrait) -> str:
    completed = f"{trait.completed:,} of {counted(trait.completed_of, 'completed run')}"
    return f"All failed runs had {_named(trait)}; so had {completed} ({share(trait.completed / trait.completed_of)})."


def _named(trait: SharedTrait) -> str:
    """One thing that runs were given, with its number.

    >>> _named(SharedTrait("gpus", 8, 0, 4)), _named(SharedTrait("walltime_s", 3600.0, 0, 4))
    ('8 GPUs', 'a time limit of 1 h 00 min')
    """
    match trait.name, trait.value:
        case "partition", value:
            return f"the partition {value}"
        case "memory_gb", float() | int() as value:
            return f"{gigabytes(float(value))} of memory"
        case "walltime_s", float() | int() as value:
            return f"a time limit of {duration(value)}"
        case name, int() as value:
            return counted(value, {"gpus": "GPU", "nodes": "node", "ntasks": "task"}[name])
        case name, value:
            return f"{name} {value}"
