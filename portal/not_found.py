"""Unknown addresses: an error page for people, problem JSON for programs."""

from __future__ import annotations

from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.defaults import page_not_found

from portal.api.problems import ProblemRenderer, problem


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler for 404; where programs call, the answer is problem JSON."""
    if not request.path.startswith(("/api/", "/webhooks/")):
        return page_not_found(request, exception)
    said = problem(HTTPStatus.NOT_FOUND, "There is no such call; /api/docs/ lists all calls.").data
    return JsonResponse(said, status=HTTPStatus.NOT_FOUND, content_type=ProblemRenderer.media_type)
