"""The class of a run as people read it (`portal.charts.run_classes`), as conditions of the database."""

from __future__ import annotations

from typing import Any, cast

from django.db.models import Case, CharField, F, Q, Value, When

from analysis.efficiency import EfficiencyClass
from jobs.selectors import BY_SITE
from portal.charts.run_classes import OPEN, UNKNOWN

MEASURED = tuple(name.value for name in EfficiencyClass if name is not EfficiencyClass.UNKNOWN)
IS_JUDGED = Q(efficiency__uncounted_reason="", efficiency__ended_early=False)
"""As `analysis.facts.JobFacts.is_use_judged`, of runs that are analysed: neither short, nor ended early or by the
system."""

COUNTED_BY_FLAGS = Q(efficiency__efficiency_class__in=MEASURED) & IS_JUDGED & BY_SITE
"""The runs that flags count, as `analysis.escalation.selectors.counted_runs`."""

COPIED = {"user", "project", "started_at", "ended_at", "is_told_by_owner", "work_key"}
"""The columns of a run that its judgement has as well."""


def of_judgements(jobs: Q) -> Q:
    """A condition on jobs as one on their judgements: a run is looked at only where its judgement does not say it.

    >>> of_judgements(Q(project=7, partition="dev-g", efficiency__gpu_hours__gt=1))
    <Q: (AND: ('gpu_hours__gt', 1), ('job__partition', 'dev-g'), ('project', 7))>
    """
    found = Q(_connector=jobs.connector, _negated=jobs.negated)
    for child in jobs.children:
        if isinstance(child, Q):
            found.children.append(of_judgements(child))
        else:
            lookup, value = cast(tuple[str, Any], child)
            found.children.append((_of_judgement(lookup), value))
    return found


def _of_judgement(lookup: str) -> str:
    table, _, column = lookup.partition("__")
    if table == "efficiency":
        return column
    return lookup if table in COPIED else f"job__{lookup}"


def shown_class_in(table: str) -> Case:
    """The value in `portal.charts.run_classes.SHOWN_NAMES`; null where a run is not analysed.

    `table` is the path to the judgement: "efficiency__" or nothing.
    """
    is_class = f"{table}efficiency_class"
    is_judged = Q(**{f"{table}uncounted_reason": "", f"{table}ended_early": False})
    return Case(
        When(Q(**{f"{is_class}__isnull": True}) | Q(**{is_class: UNKNOWN}) | is_judged, then=F(is_class)),
        default=Value(OPEN),
        output_field=CharField(),
    )


SHOWN_CLASS = shown_class_in("efficiency__")


def has_class(name: str) -> Q:
    """The runs that are shown with this class."""
    if name == UNKNOWN:
        return Q(efficiency__efficiency_class=UNKNOWN)
    if name == OPEN:
        return Q(efficiency__efficiency_class__in=MEASURED) & ~IS_JUDGED
    return Q(efficiency__efficiency_class=name) & IS_JUDGED
