"""The rows of the Policy page: the columns of the export in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from analysis.policy.figures import FEW_JOBS, PROJECT, SHARES, USER
from analysis.policy.suggestion import JOBS_MIN
from portal.charts.withheld import WITHHELD_WORDS
from reports.numbers import counted, share, unbroken
from reports.sections import CLASS_NAMES

HIDDEN = "withheld"
FEW_JOBS_WORDS = f"withheld: the range of jobs of this user begins below {JOBS_MIN}"
KINDS = {PROJECT: "Projects", USER: "Users"}
"""The tables in their order on the page."""


@dataclass(frozen=True)
class PolicyPageRow:
    """One project or user; only `name` and `withheld` where its figures are withheld.

    `few_jobs` states why most figures of a user are.
    """

    name: str
    withheld: str = ""
    few_jobs: str = ""
    jobs: str = ""
    gpu_hours: str = ""
    score: str = ""
    unused: str = ""
    advice: str = ""
    by_gpu_hours: str = ""
    by_jobs: str = ""
    flag: str = ""
    coverage: str = ""
    followed: str = ""
    multiplier: str = ""


def page_row(line: Mapping[str, Any]) -> PolicyPageRow:
    """A row of the export in words."""
    name = line["name"] or line["key"]
    if line["withheld"]:
        return PolicyPageRow(name, WITHHELD_WORDS[line["withheld"]])
    score = line["efficiency_score"]
    is_few = line["withheld_columns_reason"] == FEW_JOBS
    by_gpu_hours, by_jobs = (classes(line[column]) for column in SHARES)
    return PolicyPageRow(
        name=name,
        few_jobs=FEW_JOBS_WORDS if is_few else "",
        jobs=number(line["jobs"]),
        gpu_hours=number(line["gpu_hours"]),
        score="not measured" if score is None else f"{score:.0f}\u00a0%",
        unused=number(line["unused_gpu_hours"]),
        advice=_of(line["advice_gpu_hours"], line["advice_fraction"]),
        by_gpu_hours=by_gpu_hours,
        by_jobs=by_jobs,
        flag={True: "raised", False: "–", None: HIDDEN}[line["flag"]],
        coverage=HIDDEN if is_few else unbroken(share(line["coverage_fraction"])),
        followed=followed(line["followed_runs"], line["followed_gpu_hours"]),
        multiplier=f"{line['suggested_multiplier']:.2f}",
    )


def number(value: float | None) -> str:
    """A rounded number.

    >>> number(12350.0), number(None)
    ('12,350', 'withheld')
    """
    return HIDDEN if value is None else f"{value:,.10g}"


def _of(hours: float | None, fraction: float | None) -> str:
    return HIDDEN if hours is None or fraction is None else f"{number(hours)} ({unbroken(share(fraction))})"


def classes(shares: Mapping[str, float] | None) -> str:
    """The classes that occur, each with its part.

    >>> classes({"efficient": 0.25, "acceptable": 0.0, "inefficient": 0.75, "wasted": 0.0, "unknown": 0.0})
    'Efficient 25\\xa0%, Inefficient 75\\xa0%'
    """
    if shares is None:
        return HIDDEN
    found = ((CLASS_NAMES[name.upper()], part) for name, part in shares.items() if part)
    return ", ".join(f"{name} {unbroken(share(part))}" for name, part in found)


def followed(runs: int | None, hours: float | None) -> str:
    """How many runs followed advice, and what that saved."""
    if runs is None:
        return HIDDEN
    saved = "" if not hours else f", {unbroken(counted(hours, 'GPU-hour'))} saved"
    return f"{counted(runs, 'job')}{saved}" if runs else "–"


def withheld_lines(counts: Sequence[Mapping[str, Any]]) -> list[str]:
    """How many rows are withheld for each reason, a sentence each."""
    return [f"{counted(each['rows'], each['kind'])} {WITHHELD_WORDS[each['reason']]}" for each in counts]
