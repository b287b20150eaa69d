"""The dashboard: the biggest savings with their new lines, what to look at, the latest jobs, and the trend."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from analysis.cases.selectors import requests_to
from analysis.escalation.selectors import IS_OPEN, flags_of_led, own_flags
from analysis.history.periods import Period, last_days, month, month_before
from analysis.history.run_sums import Days
from analysis.history.selectors import days_and_trend, worst_run
from analysis.history.sums import Overview, overview_of, steps_of, trend_of, trend_period
from analysis.outcomes.selectors import SavedSum, saved_by
from analysis.rollups.selectors import own_part, site_now, sums_by_project
from jobs.models import User
from jobs.selectors import Reach, led_projects, reach_of
from portal.access import person, signed_in_page
from portal.charts.history import classes_and_median
from portal.charts.recent_jobs import recent_jobs, shown_job
from portal.charts.running import FEW_MAX, RunningJobs, running_jobs
from portal.pages.dashboard.sample_report import sample_page
from portal.pages.dashboard.suggestions import GPU_HOURS_MIN, to_do

RECENT, SUGGESTED_MAX, SUGGESTED_DAYS, LOOK_AT_DAYS = 5, 3, 30, 14


@signed_in_page
def dashboard(request: HttpRequest) -> HttpResponse:
    """Own jobs only, and for a PI one line on the project with the way to its page."""
    reach = reach_of(person(request))
    recent = recent_jobs(reach, RECENT)
    running = running_jobs(reach, timezone.now(), FEW_MAX, is_own=True)
    if not recent:
        return _without_jobs(request, running)
    context = {
        "running": running,
        "recent": recent,
        "flagged": flag_notice(person(request), reach),
        "led": led_line(person(request), month(site_now())),
        **_figures(reach),
    }
    return render(request, "portal/dashboard/dashboard.html", context)


def _without_jobs(request: HttpRequest, running: RunningJobs) -> HttpResponse:
    """Whoever looks after the portal starts where their work is; everybody else with the first steps."""
    if request.user.is_superuser:
        return redirect("system")
    if request.user.is_staff:
        return redirect("support")
    led = led_projects(person(request)).order_by("name")
    return render(
        request, "portal/dashboard/first_steps.html", {"led": led, "example": sample_page(), "running": running}
    )


def _figures(reach: Reach) -> dict[str, Any]:
    """What to do next, what to look at, this month beside the last, and the trend."""
    now = site_now()
    weeks, lately = trend_period(now), last_days(now, SUGGESTED_DAYS)
    this, before = month(now), month_before(now)
    runs = days_and_trend([own_part(reach)], Period(before.start, now))
    worst = worst_run(reach.own, last_days(now, LOOK_AT_DAYS).start, now)
    return {
        "to_do": to_do(reach.own, lately, SUGGESTED_MAX),
        "days": SUGGESTED_DAYS,
        "month": month_line(runs, this, before, saved_by(reach.own)),
        "worst": shown_job(worst.job, worst) if worst else None,
        "look_at_days": LOOK_AT_DAYS,
        "trend": trend_of(runs, now),
        "chart": classes_and_median(steps_of(runs, weeks), weeks.step),
    }


@dataclass(frozen=True)
class FlagNotice:
    """Whether the reader's jobs are flagged, how many requests of support wait for an answer, and the flagged projects
    that the reader leads."""

    is_raised: bool
    requests: int
    projects: list[str]


def flag_notice(user: User, reach: Reach) -> FlagNotice:
    """For one person: two queries, and one more for who leads a project."""
    led = [flag.project.name for flag in flags_of_led(reach) if flag.project] if reach.led else []
    return FlagNotice(own_flags(user).filter(IS_OPEN).exists(), requests_to(user).count(), sorted(led))


@dataclass(frozen=True)
class LedLine:
    """The led project with the most unused GPU-hours of its members, as its page adds them up; `more` are the others
    with unused hours."""

    name: str
    unused_gpu_hours: float
    more: int


def led_line(leader: User, this: Period) -> LedLine | None:
    """The line for the month, None where the person leads no project that left a GPU-hour unused."""
    led = led_projects(leader)
    sums = sums_by_project(led, this)
    unused = {pk: row.wasted_gpu_hours for pk, row in sums.items() if row.wasted_gpu_hours >= GPU_HOURS_MIN}
    if not unused:
        return None
    most = max(unused, key=lambda pk: (unused[pk], -pk))
    name = led.values_list("name", flat=True).get(pk=most)
    return LedLine(name, unused[most], len(unused) - 1)


@dataclass(frozen=True)
class MonthLine:
    """`change_points` is the change of the unused share in percentage points; None where a month has no hours.

    Advice is seldom followed within one month: `saved` is over everything that is stored.
    """

    name: str
    name_before: str
    sum: Overview
    change_points: float | None
    saved: SavedSum

    @property
    def points(self) -> int:
        """The size of the change in whole points."""
        return round(abs(self.change_points or 0.0))

    @property
    def is_less(self) -> bool:
        return (self.change_points or 0.0) < 0


def month_line(runs: Days, this: Period, before: Period, saved: SavedSum) -> MonthLine:
    """The present month beside the last, from days that reach back over both."""
    now, then = overview_of(runs, this), overview_of(runs, before)
    share, share_before = now.wasted_fraction, then.wasted_fraction
    change = None if share is None or share_before is None else (share - share_before) * 100
    return MonthLine(f"{this.start:%B}", f"{before.start:%B}", now, change, saved)
