"""The summary of a project for its PI, and its grant report: all of it for the PI, their own part for everyone else."""

import msgspec
from django.http import Http404, HttpResponse
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from analysis.history.periods import DAYS_OFFERED
from analysis.history.selectors import told_by_owners
from analysis.history.sums import frequent_findings, overview_of
from analysis.rollups.selectors import days_of, project_part, site_now
from jobs.models import Membership, Project
from jobs.selectors import allocations_of, reach_of
from portal.access import membership_of, person
from portal.api.answers import AllocationAnswer, ClassAnswer, FindingAnswer, ProjectAnswer
from portal.api.rate_limits import Downloads
from portal.charts.over_time import asked_period
from portal.downloads import attachment
from portal.grant_reading import CONTENT_TYPES, asked_span, content, file_name
from reports.from_rows import struct_from
from reports.grant.selectors import allocation_of, grant_report, scope_of
from reports.grant.spans import Span, SpanError

NAMES_ASKED = {"1": True, "true": True, "0": False, "false": False}


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
        seen = overview_of(runs, period)
        allocation = allocations_of([membership.project]).get(membership.project_id)
        answer = struct_from(
            ProjectAnswer,
            seen,
            project=project,
            days=days,
            uncounted_jobs=seen.uncounted,
            median_gpu_util=seen.median_util,
            classes=[ClassAnswer(share.name.value, share.jobs, share.gpu_hours) for share in seen.shares],
            findings=[struct_from(FindingAnswer, row) for row in frequent_findings(runs, period)],
            allocation=struct_from(AllocationAnswer, allocation) if allocation else None,
            owner_reported_jobs=told_by_owners([whose], period),
        )
        return Response(msgspec.to_builtins(answer))


class ProjectGrantReport(APIView):
    """`GET /api/v1/projects/{project}/grant-report.{json,csv,pdf}?from=&until=`: both days belong to the period.

    `?names=1` adds the members and names the works, in a report on a whole project.
    """

    def get_throttles(self) -> list[BaseThrottle]:
        return [*super().get_throttles(), *([Downloads()] if self.kwargs["name"] == "pdf" else [])]

    def get(self, request: Request, project: str, name: str) -> HttpResponse:
        if name not in CONTENT_TYPES:
            raise Http404(f"A grant report's format must be one of {', '.join(CONTENT_TYPES)}.")
        user = person(request)
        membership = membership_of(user, project)
        span = _asked(request, membership.project)
        with_names = _with_names(request)
        scope = scope_of(reach_of(user), membership.project)
        report = grant_report(scope, span, timezone.now(), with_names=with_names)
        return attachment(content(report, name), file_name(report, name), CONTENT_TYPES[name])


def _with_names(request: Request) -> bool:
    asked = request.query_params.get("names", "0")
    if asked not in NAMES_ASKED:
        raise ValidationError(f"names must be one of {', '.join(NAMES_ASKED)}.")
    return NAMES_ASKED[asked]


def _asked(request: Request, project: Project) -> Span:
    given = request.query_params
    try:
        return asked_span(given.get("from"), given.get("until"), site_now().date(), allocation_of(project))
    except SpanError as error:
        raise ValidationError(str(error)) from error
