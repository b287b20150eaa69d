"""The class of a run as people read it (`portal.charts.run_classes`), as conditions of the database."""

from __future__ import annotations

from django.db.models import Case, CharField, F, Q, Value, When

from analysis.efficiency import EfficiencyClass
from analysis.models import ended_early
from jobs.selectors import BY_SITE
from portal.charts.run_classes import OPEN, UNKNOWN

MEASURED = tuple(name.value for name in EfficiencyClass if name is not EfficiencyClass.UNKNOWN)
IS_JUDGED = Q(efficiency__uncounted_reason="") & ~ended_early()
"""As `analysis.facts.JobFacts.is_use_judged`, of runs that are analysed: neither short, nor ended early or by the
system."""

COUNTED_BY_FLAGS = Q(efficiency__efficiency_class__in=MEASURED) & IS_JUDGED & BY_SITE
"""The runs that flags count, as `analysis.escalation.selectors.counted_runs`."""

SHOWN_CLASS = Case(
    When(
        Q(efficiency__efficiency_class__isnull=True) | Q(efficiency__efficiency_class=UNKNOWN) | IS_JUDGED,
        then=F("efficiency__efficiency_class"),
    ),
    default=Value(OPEN),
    output_field=CharField(),
)
"""The value in `portal.charts.run_classes.SHOWN_NAMES`; null where a run is not analysed."""


def has_class(name: str) -> Q:
    """The runs that are shown with this class."""
    if name == UNKNOWN:
        return Q(efficiency__efficiency_class=UNKNOWN)
    if name == OPEN:
        return Q(efficiency__efficiency_class__in=MEASURED) & ~IS_JUDGED
    return Q(efficiency__efficiency_class=name) & IS_JUDGED
