"""The summary of a project for its PI."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from analysis.history.overview import Overview
from analysis.history.periods import DAYS_OFFERED
from analysis.history.selectors import told_by_owners
from analysis.history.sums import frequent_findings, overview_of
from analysis.rollups.selectors import days_of, project_part, site_now
from jobs.models import Membership, ProjectAllocation
from jobs.selectors import allocations_of, reach_of
from portal.access import membership_of, person
from portal.charts.over_time import asked_period


class ProjectSummary(APIView):
    """`GET /api/v1/projects/{project}/summary/`: classes, GPU-hours, unused GPU-hours and findings of the last
    `?days=`.

    Other numbers of days than those offered are 400.
    """

    def get(self, request: Request, project: str) -> Response:
        membership = membership_of(person(request), project)
        if membership.role != Membership.Role.PI:
            raise Http404("There is no such project here.")
        asked = request.query_params.get("days")
        if asked is not None and asked not in map(str, DAYS_OFFERED):
            raise ValidationError(f"The number of days must be one of {', '.join(map(str, DAYS_OFFERED))}.")
        days, period = asked_period(site_now(), asked or "")
        reach = reach_of(person(request))
        whose = reach.of_project(membership.project_id)
        runs = days_of([project_part(reach, membership.project_id)], period)
        found = frequent_findings(runs, period)
        findings = [{"code": row.code, "jobs": row.jobs, "wasted_gpu_hours": row.wasted_gpu_hours} for row in found]
        allocation = allocations_of([membership.project]).get(membership.project_id)
        return Response(
            {
                **{"project": project, "days": days, **_sums(overview_of(runs, period)), "findings": findings},
                **{"allocation": _allocated(allocation), "owner_reported_jobs": told_by_owners([whose], period)},
            }
        )


def _allocated(row: ProjectAllocation | None) -> dict[str, Any] | None:
    names = ("gpu_hours", "used_gpu_hours", "begins_on", "ends_on", "source", "read_at")
    return {name: getattr(row, name) for name in names} if row else None


def _sums(seen: Overview) -> dict[str, Any]:
    return {
        "jobs": seen.jobs,
        "uncounted_jobs": seen.uncounted,
        "gpu_hours": seen.gpu_hours,
        "wasted_gpu_hours": seen.wasted_gpu_hours,
        "potential_gpu_hours": seen.potential_gpu_hours,
        "median_gpu_util": seen.median_util,
        "classes": [
            {"efficiency_class": share.name.value, "jobs": share.jobs, "gpu_hours": share.gpu_hours}
            for share in seen.shares
        ],
    }
