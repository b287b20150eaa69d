"""Quality of the advice, for staff: of each rule how often it is followed, and what that saves against the claim."""

from __future__ import annotations

from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.feedback import GROUP_USERS_MIN
from analysis.outcomes.quality import (
    CASES_MIN,
    LITTLE_REALISED,
    MANY_FAILURES,
    REALISED_FRACTION_MIN,
    RuleRecord,
    rule_records,
)
from analysis.outcomes.selectors import SETTLED_AFTER, closed_months
from portal.access import staff_only
from portal.charts.advice_outcomes import KINDS

BASES = {
    "active_gpus": "only the GPUs that were active",
    "gpu_memory": "as many GPUs as their memory needs",
    "no_gpu_use": "no GPU was used",
    "cpu_work": "a CPU partition, no GPU was used",
    "smaller_gpu": "a smaller GPU",
    "overscaling": "fewer, busier GPUs",
    "own_scaling": "as many GPUs as scaled in own runs",
    "peak_memory": "memory near the measured peak",
    "busy_cores": "cores near those that were busy",
    "host_share": "cores and memory that come with the GPUs",
    "out_of_memory": "the memory that comes with the GPUs, after it ran out",
    "more_memory": "more memory, after it ran out",
    "run_time": "a time limit near the run time",
    "own_runs": "a time limit near the longest own run",
    "more_time": "more time, after the limit was reached",
    "own_longer_runs": "the time that own runs took, after the limit was reached",
}
REASONS = {
    LITTLE_REALISED: f"saved less than {REALISED_FRACTION_MIN:.0%} of what was claimed".replace("%", "\u00a0%"),
    MANY_FAILURES: "runs that followed ran out of memory or time more often than other runs",
}


@dataclass(frozen=True)
class RuleRow:
    """One rule by its name, with why its record is poor."""

    kind: str
    name: str
    record: RuleRecord
    reasons: tuple[str, ...]


@require_GET
@staff_only
def advice_quality(request: HttpRequest) -> HttpResponse:
    """Stored months alone, added up: what is withheld in a month is in no sum."""
    months = closed_months()
    rows = [
        RuleRow(
            KINDS.get(record.sums.kind, record.sums.kind),
            BASES.get(record.sums.basis, record.sums.basis),
            record,
            tuple(REASONS[reason] for reason in record.poor),
        )
        for record in rule_records(figures for _, figures in months)
    ]
    context = {
        "rows": rows,
        "is_judged": any(row.record.sums.given for row in rows),
        "poor": [row for row in rows if row.reasons],
        "first": months[0][0] if months else None,
        "last": months[-1][0] if months else None,
        "users_min": GROUP_USERS_MIN,
        "cases_min": CASES_MIN,
        "settled_days": SETTLED_AFTER.days,
    }
    return render(request, "portal/support/advice_quality.html", context)
