"""One project: all of it for its PI, their own part for everyone else in it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.history.periods import DAYS_OFFERED, last_days
from analysis.history.selectors import frequent_findings, members_of, overview_of, steps_of, trend_of
from jobs.models import Membership
from jobs.selectors import visible_jobs
from portal.access import membership_of
from portal.finding_list import finding_list
from portal.history_charts import charts

DAYS_DEFAULT = 90


@require_GET
@login_required
def project(request: HttpRequest, name: str) -> HttpResponse:
    """Classes, hours, waste and findings of the last days; members and their sums for the PI alone."""
    membership = membership_of(request.user, name)
    leads = membership.role == Membership.Role.PI
    runs = visible_jobs(request.user).filter(project=membership.project)
    asked = request.GET.get("days", "")
    days = int(asked) if asked in map(str, DAYS_OFFERED) else DAYS_DEFAULT
    now = timezone.localtime()
    period = last_days(now, days)
    context = {
        "project": membership.project,
        "leads": leads,
        "days": days,
        "days_offered": DAYS_OFFERED,
        "sum": overview_of(runs, period),
        "trend": trend_of(runs, now),
        "charts": charts(steps_of(runs, period), period.step),
        "findings": finding_list(frequent_findings(runs, period), period),
        "members": members_of(membership.project, runs, period) if leads else [],
        "step": period.step,
    }
    return render(request, "portal/project.html", context)
