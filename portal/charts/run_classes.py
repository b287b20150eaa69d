"""The class of a run as people read it: a run whose use is not judged has none, whatever its mean use was.

Also as conditions of the database.
"""

from typing import Any, cast

from django.db.models import Case, CharField, F, Q, Value, When

from analysis.efficiency import MEASURED, EfficiencyClass
from analysis.models import JobEfficiency
from jobs.models import Job
from jobs.selectors import BY_SITE
from reports.sections import NOT_JUDGED
from wire.classes import CLASS_NAMES

OPEN = "NOT_JUDGED"
UNKNOWN = EfficiencyClass.UNKNOWN.value
SHOWN_NAMES = {**CLASS_NAMES, OPEN: NOT_JUDGED}
"""By the value in an address or a file; the order is that of the classes."""

IS_JUDGED = Q(efficiency__uncounted_reason="", efficiency__ended_early=False)
"""As `analysis.facts.JobFacts.is_use_judged`, of runs that are analysed: neither short, nor ended early or by the
system."""

COUNTED_BY_FLAGS = Q(efficiency__efficiency_class__in=MEASURED) & IS_JUDGED & BY_SITE
"""The runs that flags count, as `analysis.escalation.selectors.counted_runs`."""

COPIED = {"user", "project", "started_at", "ended_at", "is_told_by_owner", "work_key"}
"""The columns of a run that its judgement has as well."""


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
