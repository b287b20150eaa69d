"""Closing the months of the policy export: each one is added up once, and never again; later its rows are deleted."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import date, datetime
from functools import partial
from typing import Any

import msgspec
import numpy as np
from django.conf import settings
from django.db import transaction

from analysis.escalation.models import Flag
from analysis.escalation.selectors import flagged_at
from analysis.policy.figures import PROJECT, USER, project_figures, user_figures, without_classes
from analysis.policy.flags.selectors import flags_of_projects
from analysis.policy.keys import user_key
from analysis.policy.models import PolicyMonth, PolicyRow
from analysis.policy.selectors import atoms_of_month, months_to_close, policy_months, sums_of_month
from analysis.policy.sums import PolicySums
from analysis.policy.suppression import withheld_projects
from analysis.site.figures import DIMENSIONS, MonthFigures
from analysis.site.models import SiteMonth
from analysis.site.selectors import month_ends, next_month
from analysis.site.suppression import Withheld, runs_of
from jobs.failures.services import Work, attempt_each
from jobs.models import Project

CLOSE_MONTH = "month of the policy export"
ROWS_TOGETHER = 2000

People = Mapping[tuple[int, int], PolicySums]
"""The sums of each user in each project, by their keys."""

Found = Mapping[str, Any] | Withheld
"""The figures of a row, or why they are withheld."""


def close_policy_months(now: datetime) -> int:
    """Store the rows of every month that the site closed; how many months."""
    due = [int(f"{month:%Y%m}") for month in months_to_close()]
    return attempt_each(Work(CLOSE_MONTH, partial(_close, now=now), is_recurring=True), [due], now).done


def _close(key: int, now: datetime) -> int:
    first_day = date(key // 100, key % 100, 1)
    people = sums_of_month(first_day)
    projects = _projects(people, first_day)
    with transaction.atomic():
        month, is_new = PolicyMonth.objects.get_or_create(first_day=first_day, defaults={"closed_at": now})
        if is_new:
            rows = (*_of_projects(month, projects), *_of_users(month, people))
            PolicyRow.objects.bulk_create(rows, batch_size=ROWS_TOGETHER)
    return int(is_new)


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
    stored = msgspec.convert(SiteMonth.objects.get(first_day=month).figures, MonthFigures)
    *tables, projects = runs.tables
    if stored.total.withheld:
        return dict.fromkeys(projects.names, Withheld(stored.total.withheld)), set()
    for name, table in zip(DIMENSIONS, tables, strict=True):
        shown = {cell.name for cell in stored.tables.get(name, []) if not cell.withheld}
        table.withheld |= {group: Withheld.OTHER_GROUP for group, each in enumerate(table.names) if each not in shown}
    return withheld_projects(runs, DIMENSIONS.index("class"), unsafe, without_shares)


def _of_projects(month: PolicyMonth, projects: Mapping[int, Found]) -> Iterator[PolicyRow]:
    names = dict(Project.objects.filter(pk__in=projects).values_list("pk", "name"))
    for project, found in projects.items():
        yield PolicyRow(month=month, kind=PROJECT, key=names[project], **_columns(found))


def _of_users(month: PolicyMonth, people: People) -> Iterator[PolicyRow]:
    totals: dict[int, PolicySums] = {}
    for (user, _), row in people.items():
        totals[user] = totals[user] + row if user in totals else row
    flagged = flagged_at(Flag.Kind.USER, month_ends(month.first_day)[1])
    flags = [user in flagged for user in totals]
    figures = user_figures(np.stack(list(totals.values())), flags) if totals else []
    secret = settings.POLICY_KEY_SECRET.encode()
    for place, user in enumerate(totals):
        found = figures if isinstance(figures, Withheld) else figures[place]
        key = user_key(secret, str(month), user)
        yield PolicyRow(month=month, kind=USER, key=key, user_id=user, **_columns(found))


def _columns(found: Found) -> dict[str, Any]:
    return {"withheld": found.value} if isinstance(found, Withheld) else {"figures": dict(found)}


def remove_policy_rows(before: datetime) -> Iterator[int]:
    """Delete the rows of the months that ended before then, month by month; yields the number of each."""
    for month in policy_months():
        if next_month(month.first_day) <= before.date():
            with transaction.atomic():
                PolicyMonth.objects.filter(pk=month.pk).update(has_rows=False)
                removed, _ = month.rows.all().delete()
            yield removed
