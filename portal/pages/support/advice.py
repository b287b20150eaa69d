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
from portal.charts.advice_outcomes import BASES, KINDS

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
