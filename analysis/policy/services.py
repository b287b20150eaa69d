"""The months of the policy export: how one is added up, and later deleted."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime
from typing import Any

import numpy as np
from django.conf import settings
from django.db import transaction

from analysis.escalation.models import Flag
from analysis.escalation.selectors import flagged_at
from analysis.models import ClosedMonth
from analysis.months.kind import MonthKind
from analysis.months.selectors import figures_of, month_ends, next_month
from analysis.policy.figures import PROJECT, USER, project_figures, user_figures, without_classes
from analysis.policy.keys import user_key
from analysis.policy.models import PolicyRow
from analysis.policy.selectors import (
    CODE,
    atoms_of_month,
    flags_of_projects,
    is_rolled_up,
    policy_months,
    sums_of_month,
)
from analysis.policy.sums import PolicySums
from analysis.policy.suppression import withheld_projects
from analysis.site.figures import DIMENSIONS, MonthFigures
from analysis.site.selectors import CLOSED_AFTER
from analysis.site.suppression import Withheld, runs_of
from jobs.models import Project

People = Mapping[tuple[int, int], PolicySums]
"""The sums of each user in each project, by their keys."""

Found = Mapping[str, Any] | Withheld
"""The figures of a row, or why they are withheld."""


def _rows(month: date, now: datetime) -> list[PolicyRow]:
    """What is shown of each project and user of a month."""
    people = sums_of_month(month)
    return [*_of_projects(_projects(people, month)), *_of_users(month, people)]


def _projects(people: People, month: date) -> dict[int, Found]:
    """What is shown of each project, by its key, beside what the Site page shows of the month."""
    members: dict[int, list[PolicySums]] = {}
    for (_, project), row in people.items():
        members.setdefault(project, []).append(row)
    flags = flags_of_projects(month, members)
    found = {project: project_figures(np.stack(rows), flags[project]) for project, rows in members.items()}
    unsafe = {str(project): each for project, each in found.items() if isinstance(each, Withheld)}
    without_shares = {
        str(project)
        for project, each in found.items()
        if not isinstance(each, Withheld) and each["classes_by_gpu_hours"] is None
    }
    withheld, hidden = _withheld(month, unsafe, without_shares)
    for project, each in found.items():
        name = str(project)
        if not isinstance(each, Withheld):
            found[project] = withheld.get(name) or (without_classes(each) if name in hidden else each)
    return found


def _withheld(
    month: date, unsafe: Mapping[str, Withheld], without_shares: Collection[str]
) -> tuple[dict[str, Withheld], set[str]]:
    """The same as `withheld_projects` for the runs of a month; everything where the site's total is withheld."""
    runs = runs_of(atoms_of_month(month))
    stored = figures_of("site", month, MonthFigures)
    assert stored is not None  # noqa: S101  a month follows the closed one of the site
    *tables, projects = runs.tables
    if stored.total.withheld:
        return dict.fromkeys(projects.names, Withheld(stored.total.withheld)), set()
    for name, table in zip(DIMENSIONS, tables, strict=True):
        shown = {cell.name for cell in stored.tables.get(name, []) if not cell.withheld}
        table.withheld |= {group: Withheld.OTHER_GROUP for group, each in enumerate(table.names) if each not in shown}
    return withheld_projects(runs, DIMENSIONS.index("class"), unsafe, without_shares)


def _of_projects(projects: Mapping[int, Found]) -> Iterator[PolicyRow]:
    names = dict(Project.objects.filter(pk__in=projects).values_list("pk", "name"))
    for project, found in projects.items():
        yield PolicyRow(kind=PROJECT, key=names[project], **_columns(found))


def _of_users(month: date, people: People) -> Iterator[PolicyRow]:
    totals: dict[int, PolicySums] = {}
    for (user, _), row in people.items():
        totals[user] = totals[user] + row if user in totals else row
    flagged = flagged_at(Flag.Kind.USER, month_ends(month)[1])
    flags = [user in flagged for user in totals]
    figures = user_figures(np.stack(list(totals.values())), flags) if totals else []
    secret = settings.POLICY_KEY_SECRET.encode()
    for place, user in enumerate(totals):
        found = figures if isinstance(figures, Withheld) else figures[place]
        key = user_key(secret, f"{month:%Y-%m}", user)
        yield PolicyRow(kind=USER, key=key, user_id=user, **_columns(found))


def _columns(found: Found) -> dict[str, Any]:
    return {"withheld": found.value} if isinstance(found, Withheld) else {"figures": dict(found)}


POLICY = MonthKind(
    code=CODE,
    title="the policy export",
    after=CLOSED_AFTER,
    follows="site",
    is_ready=is_rolled_up,
    figures=lambda month, now: [],
    rows=_rows,
)
"""The figures of projects and users for schedulers; they are in rows of their own."""


def remove_policy_rows(before: datetime) -> Iterator[int]:
    """Delete the rows of the months that ended before then, month by month; yields the number of each."""
    for month in policy_months():
        if next_month(month.first_day) <= before.date():
            with transaction.atomic():
                ClosedMonth.objects.filter(pk=month.pk).update(figures=None)
                removed, _ = PolicyRow.objects.filter(month=month).delete()
            yield removed
