"""Errors as RFC 9457 problem JSON, in the same form for every call; and the format of answers."""

import logging
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from rest_framework import exceptions
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from portal.ingest.door import RETRY_AFTER_S, problem_members
from portal.troubles import logged_trouble
from reports.services.pdf import PdfUnavailable

log = logging.getLogger(__name__)


class ProblemRenderer(JSONRenderer):
    media_type = "application/problem+json"
    format = "problem"


def problem(status: int, detail: str, **more: Any) -> Response:
    """One problem; `more` are additional members, such as `errors`."""
    response = Response(problem_members(HTTPStatus(status), detail, **more), status)
    response.content_type = ProblemRenderer.media_type
    return response


def problem_answer(status: int, detail: str, headers: Mapping[str, str] | None = None) -> JsonResponse:
    """The same from outside of REST framework."""
    said, kind = problem(status, detail).data, ProblemRenderer.media_type
    return JsonResponse(said, status=status, content_type=kind, headers=headers)


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """REST framework's exception handler; None leaves unexpected errors to Django."""
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, PdfUnavailable):
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, "This server cannot create PDFs at the moment.")
    if not isinstance(error, exceptions.APIException):
        return _outage(error)
    details = error.detail if isinstance(error.detail, list) else [error.detail]
    response = problem(error.status_code, " ".join(map(str, details)))
    if header := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = header
    if wait_s := getattr(error, "wait", None):
        response["Retry-After"] = str(wait_s)
    return response


def _outage(error: Exception) -> Response | None:
    """What this server cannot do now and when to retry; None for an error of another kind."""
    found = logged_trouble(error, log)
    if found is None:
        return None
    response = problem(HTTPStatus.SERVICE_UNAVAILABLE, found.sentence)
    response["Retry-After"] = str(RETRY_AFTER_S)
    return response


class OwnFormat(DefaultContentNegotiation):
    """JSON, or the file that `report.{format}` names; never 406."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        first = next(iter(renderers))
        return first, first.media_type
