"""Reading flags: who sees which, which subjects a sweep checks, and the sums that it checks."""

from collections import defaultdict
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet, Sum

from analysis.efficiency import LOW, MEASURED
from analysis.escalation.models import Flag
from analysis.escalation.rules import DEFAULTS, FlagLimits
from analysis.history.periods import Period, last_days
from analysis.history.run_sums import DAY, JudgedRun, RunSums, add_run, add_sums, first_and_last
from analysis.models import JobEfficiency
from analysis.rollups.models import PersonDay, ProjectDay, RollUpDue, WorkDay
from analysis.rollups.selectors import READ, Part, days_of, due_days, judged_runs, site_zone, start_of, unpacked
from jobs.models import Job, JobShare, User
from jobs.selectors import BY_SITE, Reach

CHUNK_ROWS = 500
IS_OPEN = Q(cleared_at__isnull=True)


def flag_limits() -> FlagLimits:
    """The thresholds of this site."""
    return FlagLimits(
        window_days=settings.FLAG_WINDOW_DAYS,
        jobs_min=settings.FLAG_JOBS_MIN,
        unused_gpu_hours_min=float(settings.FLAG_UNUSED_GPU_HOURS_MIN),
        raise_fraction=settings.FLAG_RAISE_FRACTION,
        clear_fraction=settings.FLAG_CLEAR_FRACTION,
    )


def window(now: datetime, limits: FlagLimits = DEFAULTS) -> Period:
    """The days of the site that count now."""
    return last_days(now.astimezone(site_zone()), limits.window_days)


def own_flags(user: User) -> QuerySet[Flag]:
    """Every flag of a person and of that person's works, also cleared ones, the latest first."""
    return _latest_first(Flag.objects.filter(user=user))


def flags_of_led(reach: Reach) -> QuerySet[Flag]:
    """The open flags of the projects that a person leads."""
    return _latest_first(Flag.objects.filter(IS_OPEN, kind=Flag.Kind.PROJECT, project__in=reach.led))


def flags_in_project(reach: Reach, project: int) -> QuerySet[Flag]:
    """The flags of a project and of the works in it, for its PI; nothing for anybody else.

    Flags of members are not among them: they rest on the jobs in all their projects, which a PI does not see.
    """
    if project not in reach.led:
        return Flag.objects.none()
    return _latest_first(Flag.objects.filter(project=project))


def staff_sees(now: datetime, table: str = "") -> Q:
    """The flags whose time of grace is over, and was before they cleared; `table` is the path to them, "flag__"."""
    visible = Q(**{f"{table}visible_to_staff_at__lte": now})
    was_open = Q(**{f"{table}cleared_at__gte": F(f"{table}visible_to_staff_at")})
    return visible & (was_open | Q(**{f"{table}cleared_at__isnull": True}))


def open_to_staff(moment: datetime) -> Q:
    """The flags that staff saw as open at a moment."""
    return (IS_OPEN | Q(cleared_at__gt=moment)) & Q(visible_to_staff_at__lte=moment)


def open_counts() -> dict[str, int]:
    """How many flags of each kind are raised, whoever sees them."""
    rows = dict(Flag.objects.filter(IS_OPEN).values_list("kind").annotate(Count("pk")).order_by())
    return {kind: rows.get(kind, 0) for kind in Flag.Kind.values}


def _latest_first(flags: QuerySet[Flag]) -> QuerySet[Flag]:
    return flags.select_related("user", "project").order_by("-raised_at", "-pk")


def work_names(flags: list[Flag]) -> dict[str, str]:
    """The name of the latest run of each of these works, by key, for who sees its runs; one query."""
    keys = [flag.work_key for flag in flags if flag.work_key]
    newer = Job.objects.filter(work_key=OuterRef("work_key"), pk__gt=OuterRef("pk"))
    rows = Job.objects.filter(~Exists(newer), work_key__in=keys)
    return dict(rows.values_list("work_key", "job_name"))


def users_to_check(now: datetime, limits: FlagLimits) -> list[int]:
    """The people whose flag may be raised or cleared: enough is unused, or they have one, or sums are changing."""
    raised = Flag.objects.filter(IS_OPEN, kind=Flag.Kind.USER)
    return _to_check("user_id", PersonDay.objects.filter(BY_SITE), raised, now, limits)


def projects_to_check(now: datetime, limits: FlagLimits) -> list[int]:
    """The same of projects and their works; a work reaches no threshold that its project does not reach."""
    raised = Flag.objects.filter(IS_OPEN).exclude(kind=Flag.Kind.USER)
    return _to_check("project_id", ProjectDay.objects.all(), raised, now, limits)


def _to_check(
    subject: str, days: QuerySet[Any], raised: QuerySet[Flag], now: datetime, limits: FlagLimits
) -> list[int]:
    within = {"day__range": first_and_last(window(now, limits))}
    summed = days.filter(**within).values_list(subject)
    summed = summed.annotate(counted=Sum("jobs"), unused=Sum("wasted_gpu_hours")).order_by()
    # Rounding decides nothing here.
    heavy = summed.filter(counted__gte=limits.jobs_min, unused__gt=limits.unused_gpu_hours_min - 0.01)
    changing = RollUpDue.objects.filter(**within).values_list(subject, flat=True)
    return sorted({key for key, *_ in heavy} | set(raised.values_list(subject, flat=True)) | set(changing))


def sums_of(period: Period, *, user: int | None = None, project: int | None = None) -> RunSums:
    """The runs of one person in all projects, or of one project, that Slurm recorded."""
    return days_of([Part(user, project, by_site=True)], period).total(period)


def sums_of_works(project: int, period: Period) -> dict[tuple[int, str], RunSums]:
    """The same for each named work of a project, by (user, work key): at most three queries."""
    part, (first, last) = Part(project=project, by_site=True), first_and_last(period)
    due = due_days(part, first, last)
    found: dict[tuple[int, str], RunSums] = defaultdict(RunSums)
    stored = WorkDay.objects.filter(part.rows, day__range=(first, last)).exclude(day__in=due).exclude(work_key="")
    for user, key, packed in stored.order_by().values_list("user_id", "work_key", "sums"):
        add_sums(found[user, key], unpacked(packed))
    if due:
        runs = judged_runs(part.judged, due).exclude(work_key="")
        for user, key, *columns in runs.values_list("user_id", "work_key", *READ):
            add_run(found[user, key], JudgedRun._make(columns), site_zone())
    return found


def counted_runs(flag: Flag) -> QuerySet[JobEfficiency]:
    """The runs that the sums of a flag rest on since its last check, by the conditions of `rules.counted_in`."""
    evidence = flag.at_last
    found = JobEfficiency.objects.filter(
        BY_SITE,
        ended_at__gte=start_of(evidence.first_day),
        ended_at__lt=start_of(evidence.last_day + DAY),
        uncounted_reason="",
        ended_early=False,
        efficiency_class__in=MEASURED,
    )
    if flag.user_id is not None:
        found = found.filter(user=flag.user_id)
    if flag.project_id is not None:
        found = found.filter(project=flag.project_id)
    return found.filter(work_key=flag.work_key) if flag.work_key else found


def runs_to_share(flag: Flag, now: datetime, limit: int) -> list[JobEfficiency]:
    """Runs that show best why a flag of a person or work is raised: its low ones with the most unused GPU-hours.

    Only runs that the flag counts; those that support sees already are left out.
    """
    if flag.user_id is None:
        return []
    runs = counted_runs(flag).filter(efficiency_class__in=LOW)
    shared = JobShare.objects.filter(job=OuterRef("job_id"), revoked_at__isnull=True, expires_at__gt=now)
    left = runs.filter(~Exists(shared), wasted_gpu_hours__isnull=False).select_related("job__user", "job__project")
    return list(left.order_by("-wasted_gpu_hours", "-pk")[:limit])


def raised_flags(moment: datetime) -> Iterator[Flag]:
    """Every flag that was open and visible to staff at a moment, in the order they were raised, read in chunks."""
    rows = Flag.objects.filter(open_to_staff(moment)).select_related("user", "project").order_by("raised_at", "pk")
    return rows.iterator(chunk_size=CHUNK_ROWS)


def flagged_at(kind: Flag.Kind, moment: datetime) -> set[int]:
    """The keys of the users, or of the projects, whose own flag was open and visible to staff at a moment.

    Flags of works count for neither. Flags that were deleted since (`remove_cleared`) are not known any more.
    """
    flags = Flag.objects.filter(open_to_staff(moment), kind=kind)
    return set(flags.values_list("project_id" if kind == Flag.Kind.PROJECT else "user_id", flat=True))
