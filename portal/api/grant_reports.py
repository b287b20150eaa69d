"""The grant report of a project: all of it for its PI, their own part for everyone else in it."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.utils import timezone
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from analysis.rollups.selectors import site_now
from jobs.models import Project
from jobs.selectors import reach_of
from portal.access import membership_of, person
from portal.api.rate_limits import Downloads
from portal.grant_reading import CONTENT_TYPES, asked_span, content, file_name
from reports.grant.selectors import allocation_of, grant_report, scope_of
from reports.grant.spans import Span, SpanError

NAMES_ASKED = {"1": True, "true": True, "0": False, "false": False}


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
        response = HttpResponse(content(report, name), content_type=CONTENT_TYPES[name])
        response["Content-Disposition"] = f'attachment; filename="{file_name(report, name)}"'
        return response


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
