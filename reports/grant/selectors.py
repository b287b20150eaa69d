"""Reading what a grant report is made of: the daily sums, and counts that the database makes; never run by run.

Every report costs a fixed number of queries. Whose runs they are a `Scope` says, which the caller has checked.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from django.conf import settings
from django.db.models import Count, Q

from analysis.history.open_savings import WorkSaving
from analysis.history.periods import Period
from analysis.history.run_sums import Days, RunSums
from analysis.history.selectors import listed, members_of, savings_of_works, told_by_owners
from analysis.outcomes.selectors import KindSums, saved_in, sums_by_kind
from analysis.rollups.selectors import Part, days_of, project_part, site_zone, sums_by_work
from jobs.hardware import site
from jobs.models import Job, Project
from jobs.selectors import BY_SITE, Reach, allocations_of
from reports.grant.claims import Claim, claims
from reports.grant.report import (
    SCHEMA,
    Advice,
    AdviceKind,
    Allocation,
    Ended,
    GrantReport,
    MemberUse,
    OpenSaving,
    Step,
    Use,
    classes_of,
    ended_of,
    use_of,
)
from reports.grant.spans import Span, before, months
from reports.numbers import JOULES_PER_KWH

OPEN_SHOWN = 5
SAVINGS_RUNS_MAX = 4000
"""The latest jobs that are looked at for open savings; a report states it where it has more."""


@dataclass(frozen=True)
class Scope:
    """Whose runs a report is about: the whole project, or one person's part of it."""

    project: Project
    part: Part
    rows: Q
    is_whole: bool


def scope_of(reach: Reach, project: Project) -> Scope:
    """What a person sees of a project, as its page shows it: all of it who leads it, their own part who does not."""
    return Scope(project, project_part(reach, project.pk), reach.of_project(project.pk), project.pk in reach.led)


def whole_project(project: Project) -> Scope:
    """All of a project, for who operates the portal."""
    return Scope(project, Part(project=project.pk, by_site=True), Q(project=project.pk), is_whole=True)


def allocation_of(project: Project) -> Allocation | None:
    """The allocation of a project as the directory states it."""
    row = allocations_of([project]).get(project.pk)
    if row is None or not row.gpu_hours:
        return None
    return Allocation(row.gpu_hours, row.used_gpu_hours, row.begins_on, row.ends_on, row.source, row.read_at)


def grant_report(scope: Scope, span: Span, now: datetime, *, with_names: bool = False) -> GrantReport:
    """The report on these days; members and works are named only in that of a whole project, and on request."""
    today = now.astimezone(site_zone()).date()
    earlier, names = before(span, today), with_names and scope.is_whole
    period, period_before = span.period(site_zone()), earlier.period(site_zone())
    days = days_of([scope.part], Period(min(period.start, period_before.start), period.end))
    total = days.total(period)
    return GrantReport(
        schema=SCHEMA,
        project=scope.project.name,
        scope="project" if scope.is_whole else "own",
        calendar=settings.TIME_ZONE,
        made_at=now,
        first=span.first,
        last=span.last,
        has_begun=span.first <= today,
        is_over=span.last < today,
        use=_use(scope, total, period, now),
        before_first=earlier.first,
        before_last=earlier.last,
        before=_use(scope, days.total(period_before), period_before, now),
        classes=classes_of(total),
        step=period.step,
        steps=_steps(days, period, span),
        allocation=allocation_of(scope.project),
        advice=_advice(scope, period),
        open_savings=_open_savings(scope, period, names),
        open_savings_of_latest=min(total.jobs, SAVINGS_RUNS_MAX),
        claims=_claims(days, span),
        owner_reported_jobs=told_by_owners([scope.rows], period) if scope.is_whole else 0,
        members=_members(scope.project, period) if names else (),
    )


def _use(scope: Scope, total: RunSums, period: Period, now: datetime) -> Use:
    named_works = sum(1 for key in sums_by_work(scope.part, period) if key)
    return use_of(total, named_works, _ended(scope, period, now))


def _ended(scope: Scope, period: Period, now: datetime) -> Ended | None:
    """The jobs by how they ended, counted by the database; None where some of them are no longer stored."""
    if settings.RUN_DAYS and period.start < now - timedelta(days=settings.RUN_DAYS):
        return None
    rows = scope.rows & BY_SITE if scope.is_whole else scope.rows
    return ended_of(dict(listed(rows, period).values_list("state").annotate(Count("pk")).order_by()))


def _steps(days: Days, period: Period, span: Span) -> tuple[Step, ...]:
    return tuple(
        Step(
            max(start.date(), span.first),
            sums.jobs,
            sums.gpu_hours + sums.uncounted_gpu_hours,
            {name: row.gpu_hours for name, row in sums.classes.items()},
        )
        for start, sums in zip(period.steps(), days.by_step(period), strict=True)
    )


def _claims(days: Days, span: Span) -> tuple[Claim, ...]:
    """By month, as the factors apply; nothing is added up where the site states none."""
    if not (site().emissions or site().costs):
        return ()
    energy_kwh: dict[date, float] = {}
    gpu_hours: dict[date, float] = {}
    month = span.first.replace(day=1)
    while month <= span.last:
        whole = months(month, 1)
        within = Span(max(whole.first, span.first), min(whole.last, span.last))
        total = days.total(within.period(site_zone()))
        energy_kwh[month] = total.energy_j / JOULES_PER_KWH
        gpu_hours[month] = total.gpu_hours + total.uncounted_gpu_hours
        month = whole.last + timedelta(days=1)
    return claims(energy_kwh, gpu_hours, (site().emissions, site().costs))


def _advice(scope: Scope, period: Period) -> Advice:
    saved = saved_in(scope.rows, period)
    return Advice(
        tuple(map(_kind, sums_by_kind([scope.rows], period))),
        saved.runs,
        saved.compared_runs,
        saved.saved_gpu_hours if saved.compared_runs else None,
    )


def _kind(row: KindSums) -> AdviceKind:
    return AdviceKind(
        *(row.kind, row.given, row.answered, row.followed, row.partly),
        *(row.claimed_gpu_hours, row.realised_gpu_hours),
    )


def _open_savings(scope: Scope, period: Period, with_names: bool) -> tuple[OpenSaving, ...]:
    rows = scope.rows & BY_SITE if scope.is_whole else scope.rows
    works = savings_of_works(rows, period, SAVINGS_RUNS_MAX).works[:OPEN_SHOWN]
    names = _names(works) if with_names else {}
    return tuple(
        OpenSaving(work.jobs, work.gpu_hours, work.advised_gpus, names.get(work.latest_pk, "")) for work in works
    )


def _names(works: Sequence[WorkSaving]) -> dict[int, str]:
    rows = Job.objects.filter(pk__in=[work.latest_pk for work in works]).values_list("pk", "job_name", "job_id")
    return {pk: name or f"Job {job_id}" for pk, name, job_id in rows}


def _members(project: Project, period: Period) -> tuple[MemberUse, ...]:
    return tuple(
        MemberUse(
            *(member.username, member.role, member.jobs, member.gpu_hours),
            *(member.wasted_gpu_hours, member.mean_util),
        )
        for member in members_of(project, period)
        if member.jobs
    )
