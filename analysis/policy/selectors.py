"""Reading for the policy export: closed months and their rows, what can be closed, and what readers see of the flags.

The flags are those of `analysis.escalation` after their time of grace; only what may be shown is decided here.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence
from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
from django.conf import settings
from django.db.models import Count, QuerySet, Sum

from analysis.escalation.models import Flag
from analysis.escalation.rules import first_day
from analysis.escalation.selectors import flag_limits, flagged_at, raised_flags
from analysis.models import ClosedMonth
from analysis.months.selectors import month_ends, next_month
from analysis.outcomes.models import AdviceOutcome
from analysis.policy import sums
from analysis.policy.figures import ADVISORY, NONE, PROJECT, USER
from analysis.policy.keys import user_key
from analysis.policy.models import PolicyRow
from analysis.policy.raised import FLAGS_SCHEMA, FlagLine, FlagList, are_enough, monday_of
from analysis.policy.sums import NAMES, PLACE, PolicySums
from analysis.rollups.models import PersonDay, RollUpDue
from analysis.rollups.selectors import site_zone, start_of, unpacked
from analysis.site.figures import groups_of, parts_of
from analysis.site.selectors import runs_of_month
from analysis.site.suppression import Atoms, add_parts, reason_of
from jobs.selectors import BY_SITE

CODE, ROWS_TOGETHER = "policy", 2000
"""How many rows of an answer are in memory at a time."""


def policy_months() -> list[ClosedMonth]:
    """The closed months whose rows are kept, the oldest first."""
    return list(ClosedMonth.objects.filter(kind=CODE, figures__isnull=False).order_by("first_day"))


def is_rolled_up(month: date, now: datetime) -> bool:
    """Whether the roll-ups of a month are up to date."""
    return not RollUpDue.objects.filter(day__gte=month, day__lt=next_month(month)).exists()


def rows_of(months: Sequence[ClosedMonth], kind: str = "") -> QuerySet[PolicyRow]:
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


def atoms_of_month(month: date) -> Atoms:
    """The parts of each user in each combination of the site's groups and project, the last of the groups by its
    key."""
    found: Atoms = {}
    for run in runs_of_month(month):
        add_parts(found, run.user, (*groups_of(run), str(run.project)), parts_of(run))
    return found


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
    begun_at = start_of(monday_of(today))
    for flag in raised_flags(begun_at):
        if flag.kind == Flag.Kind.USER and flag.user_id:
            yield _line_of_user(flag, flag.user_id, today.replace(day=1))


def _lines_of_projects(flags: Collection[Flag], month: date) -> Iterator[FlagLine]:
    windows = {flag.pk: (flag.at_last.first_day, flag.at_last.last_day) for flag in flags}
    safe = {window: are_of_enough_people(*window) for window in set(windows.values())}
    for flag in sorted(flags, key=lambda flag: str(flag.project)):
        # Its runs may not be in the sums yet; until then nothing is known of its people.
        if safe[windows[flag.pk]].get(flag.project_id or 0, False):
            yield FlagLine(
                period=f"{month:%Y-%m}", kind=PROJECT, key=str(flag.project), raised_on=f"{_raised_on(flag)}"
            )


def _line_of_user(flag: Flag, user: int, month: date) -> FlagLine:
    period = f"{month:%Y-%m}"
    return FlagLine(
        period=period,
        kind=USER,
        key=user_key(settings.POLICY_KEY_SECRET.encode(), period, user),
        name=str(flag.user) if settings.POLICY_NAMES else None,
        raised_on=f"{max(monday_of(_raised_on(flag)), month)}",
    )


def _raised_on(flag: Flag) -> date:
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
