"""Reading for the policy export: closed months and their rows, and what can be closed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Count, QuerySet, Sum

from analysis.outcomes.models import AdviceOutcome
from analysis.policy import sums
from analysis.policy.figures import NONE
from analysis.policy.models import PolicyMonth, PolicyRow
from analysis.policy.sums import NAMES, PLACE, PolicySums
from analysis.rollups.models import PersonDay, RollUpDue
from analysis.rollups.selectors import unpacked
from analysis.site.figures import groups_of, parts_of
from analysis.site.models import SiteMonth
from analysis.site.selectors import MONTHS, month_ends, next_month, runs_of_month
from analysis.site.suppression import Parts
from jobs.selectors import BY_SITE

ROWS_TOGETHER = 2000
"""How many rows of an answer are in memory at a time."""


def policy_months() -> list[PolicyMonth]:
    """The closed months whose rows are kept, the oldest first."""
    return [month for month in PolicyMonth.objects.order_by("first_day") if month.has_rows]


def months_to_close() -> list[date]:
    """Those of `months_not_closed` whose roll-ups are up to date."""
    return [
        month
        for month in months_not_closed()
        if not RollUpDue.objects.filter(day__gte=month, day__lt=next_month(month)).exists()
    ]


def months_not_closed() -> list[date]:
    """The closed months of the site that are not closed here, the oldest first."""
    closed = set(PolicyMonth.objects.values_list("first_day", flat=True))
    site = SiteMonth.objects.order_by("-first_day").values_list("first_day", flat=True)[:MONTHS]
    return sorted(set(site) - closed)


def rows_of(months: Sequence[PolicyMonth], kind: str = "") -> QuerySet[PolicyRow]:
    """The rows of some months, of one kind or of both, in the order of the export."""
    rows = PolicyRow.objects.filter(month__in=months).order_by("month__first_day", "kind", "key")
    return rows.filter(kind=kind) if kind else rows


def lines_of(rows: QuerySet[PolicyRow]) -> Iterator[dict[str, Any]]:
    """The members of `figures.PolicyLine` for each row, read some at a time; users have names only where the site
    says so."""
    columns = ("month__first_day", "kind", "key", "withheld", "figures")
    named = ("user__username",) if settings.POLICY_NAMES else ()
    for month, kind, key, withheld, figures, *name in rows.values_list(*columns, *named).iterator(ROWS_TOGETHER):
        yield {
            **{"period": f"{month:%Y-%m}", "kind": kind, "key": key, "name": name[0] if name else None},
            **{"withheld": withheld or None, **NONE, **figures},
        }


def withheld_counts(rows: QuerySet[PolicyRow]) -> list[dict[str, Any]]:
    """The members of `figures.WithheldCount`, by month, kind and reason."""
    counts = rows.exclude(withheld="").order_by("month__first_day", "kind", "withheld")
    counted = counts.values_list("month__first_day", "kind", "withheld").annotate(Count("pk"))
    return [
        {"period": f"{month:%Y-%m}", "kind": kind, "reason": why, "rows": count} for month, kind, why, count in counted
    ]


def sums_of_month(month: date) -> dict[tuple[int, int], PolicySums]:
    """The sums (`sums.NAMES`) of each user in each project, by their keys, from the roll-ups of a month."""
    found: dict[tuple[int, int], PolicySums] = defaultdict(lambda: np.zeros(len(NAMES)))
    last = next_month(month) - timedelta(days=1)
    days = PersonDay.objects.filter(BY_SITE, day__range=(month, last), jobs__gt=0).order_by()
    for user, project, packed in days.values_list("user_id", "project_id", "sums").iterator(ROWS_TOGETHER):
        found[user, project] += sums.of_day(unpacked(packed))
    _add_followed(found, month)
    return dict(found)


def _add_followed(found: dict[tuple[int, int], PolicySums], month: date) -> None:
    """Add the runs that followed advice which was first followed in the month, and what they saved until now.

    Of a person whose runs were billed more afterwards, nothing.
    """
    start, end = month_ends(month)
    outcomes = AdviceOutcome.objects.filter(first_at__gte=start, first_at__lt=end).order_by()
    sums_of = outcomes.values_list("user_id", "project_id").annotate(Sum("credited_runs"), Sum("credited_gpu_hours"))
    for user, project, runs, saved_gpu_hours in sums_of:
        whose = found.get((user, project))
        if whose is not None:
            whose[PLACE["followed_runs"]] += runs
            whose[PLACE["followed_gpu_hours"]] += max(saved_gpu_hours or 0.0, 0.0)


def atoms_of_month(month: date) -> dict[tuple[int, tuple[str, ...]], Parts]:
    """The parts of each user in each combination of the site's groups and project, the last of the groups by its
    key."""
    found: dict[tuple[int, tuple[str, ...]], Parts] = {}
    for run in runs_of_month(month):
        key = run.user, (*groups_of(run), str(run.project))
        before = found.get(key, (0.0, 0.0, 0.0))
        used, unused, unmeasured = parts_of(run)
        found[key] = before[0] + used, before[1] + unused, before[2] + unmeasured
    return found
