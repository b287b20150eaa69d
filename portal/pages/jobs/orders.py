"""The orders of the Jobs page by their names in an address, and those of its works."""

from __future__ import annotations

from portal.pages.jobs.kind_sorts import CLASSES, FINDINGS, KindSort
from portal.pages.jobs.sorts import JUDGED, Sort

LATEST = Sort("Latest first", "ended_at", is_time=True)
LATEST_JUDGED = Sort("Latest first", f"{JUDGED}ended_at", is_time=True)
"""The same order where only judged runs are asked for: one index holds the class and the findings too."""

SORTS: dict[str, Sort | KindSort] = {
    "ended": LATEST,
    "use": Sort("Lowest GPU use first", f"{JUDGED}avg_gpu_util", is_descending=False),
    "wasted": Sort("Most unused GPU-hours first", f"{JUDGED}wasted_gpu_hours"),
    "hours": Sort("Most GPU-hours first", f"{JUDGED}gpu_hours"),
    "runtime": Sort("Longest first", "walltime_used_s"),
    "gpus": Sort("Most GPUs first", "gpus_allocated", is_count=True),
    "finding": FINDINGS,
    "class": CLASSES,
}
FIRST_SORT = "ended"

WORK_SORTS = {
    "ended": "Latest first",
    "wasted": "Most unused GPU-hours first",
    "hours": "Most used GPU-hours first",
    "jobs": "Most jobs first",
}
"""The orders of works: their names, and what each is called."""
