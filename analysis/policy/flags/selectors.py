"""What policy readers see of the flags: the list of now, and which projects had one at the end of a month.

The flags are those of `analysis.escalation` after their time of grace; only what may be shown is decided here.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from datetime import date, datetime, time, timedelta

import numpy as np
from django.conf import settings
from django.db.models import Sum

from analysis.escalation.models import Flag
from analysis.escalation.rules import first_day
from analysis.escalation.selectors import RaisedFlag, flag_limits, flagged_at, raised_flags
from analysis.policy.figures import ADVISORY, PROJECT, USER
from analysis.policy.keys import user_key
from analysis.policy.raised import FLAGS_SCHEMA, FlagLine, FlagList, are_enough, monday_of
from analysis.rollups.models import PersonDay
from analysis.rollups.selectors import site_zone
from analysis.site.selectors import month_ends, next_month
from analysis.site.suppression import reason_of
from jobs.selectors import BY_SITE


def flag_list(now: datetime) -> FlagList:
    """Projects by name, as far as enough people are in them, as of now; then users by key, as of this week's beginning.

    Flags of works are left out: the export has no key of a work.
    """
    today = now.astimezone(site_zone()).date()
    projects = [flag for flag in raised_flags(now) if flag.kind == Flag.Kind.PROJECT]
    users = sorted(_users(today), key=lambda line: line.key)
    rows = [*_lines_of_projects(projects, today.replace(day=1)), *(users if are_enough(users) else [])]
    return FlagList(
        schema=FLAGS_SCHEMA,
        advisory=ADVISORY,
        users_as_of=f"{monday_of(today)}",
        withheld_users=not are_enough(users),
        rows=rows,
    )


def _users(today: date) -> Iterator[FlagLine]:
    begun_at = datetime.combine(monday_of(today), time.min, site_zone())
    for flag in raised_flags(begun_at):
        if flag.kind == Flag.Kind.USER and flag.user_pk:
            yield _line_of_user(flag, flag.user_pk, today.replace(day=1))


def _lines_of_projects(flags: Collection[RaisedFlag], month: date) -> Iterator[FlagLine]:
    windows = {(flag.evidence.first_day, flag.evidence.last_day) for flag in flags}
    safe = {window: are_of_enough_people(*window) for window in windows}
    for flag in sorted(flags, key=lambda flag: flag.project):
        # Its runs may not be in the sums yet; until then nothing is known of its people.
        if safe[flag.evidence.first_day, flag.evidence.last_day].get(flag.project_pk or 0, False):
            yield FlagLine(period=f"{month:%Y-%m}", kind=PROJECT, key=flag.project, raised_on=f"{_raised_on(flag)}")


def _line_of_user(flag: RaisedFlag, user: int, month: date) -> FlagLine:
    period = f"{month:%Y-%m}"
    return FlagLine(
        period=period,
        kind=USER,
        key=user_key(settings.POLICY_KEY_SECRET.encode(), period, user),
        name=flag.user if settings.POLICY_NAMES else None,
        raised_on=f"{max(monday_of(_raised_on(flag)), month)}",
    )


def _raised_on(flag: RaisedFlag) -> date:
    return flag.raised_at.astimezone(site_zone()).date()


def flags_of_projects(month: date, projects: Collection[int]) -> dict[int, bool | None]:
    """Whether each of these projects had a flag at the end of a month; None where its people are too few to show it.

    That depends on the people of the window alone, not on the flag: what is withheld reveals no flag.
    """
    last = next_month(month) - timedelta(days=1)
    flagged = flagged_at(Flag.Kind.PROJECT, month_ends(month)[1])
    safe = are_of_enough_people(first_day(last, flag_limits()), last)
    return {project: project in flagged if safe.get(project, True) else None for project in projects}


def are_of_enough_people(first: date, last: date) -> dict[int, bool]:
    """Whether hours and unused hours of these days are of enough people, by the key of each project that has any."""
    days = PersonDay.objects.filter(BY_SITE, day__range=(first, last)).order_by()
    people = days.values_list("project_id", "user_id").annotate(hours=Sum("gpu_hours"), unused=Sum("wasted_gpu_hours"))
    found: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for project, _, hours, unused in people:
        found[project].append((hours or 0.0, unused or 0.0))
    columns = {project: np.array(rows).T for project, rows in found.items()}
    return {project: not any(each.sum() and reason_of(each) for each in both) for project, both in columns.items()}
