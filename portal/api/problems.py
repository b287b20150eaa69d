"""Errors as RFC 9457 problem JSON, the same shape for every call."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import OperationalError
from django.http import Http404
from rest_framework import exceptions
from rest_framework.renderers import JSONRenderer
from rest_framework.response import Response

from reports.services.pdf import PdfUnavailable

RETRY_AFTER_S = 30
"""How long a sender waits when the database is away; a restart of PostgreSQL takes less."""


class Malformed(exceptions.APIException):
    status_code = HTTPStatus.BAD_REQUEST


class TooLarge(exceptions.APIException):
    status_code = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class ProblemRenderer(JSONRenderer):
    media_type = "application/problem+json"
    format = "problem"


def problem(status: int, detail: str, **more: Any) -> Response:
    """One problem; `more` are members of its own, such as `errors`."""
    title = HTTPStatus(status).phrase
    response = Response({"type": "about:blank", "title": title, "status": status, "detail": detail, **more}, status)
    response.content_type = ProblemRenderer.media_type
    return response


def problem_response(error: Exception, context: dict[str, Any]) -> Response | None:
    """REST framework's exception handler; None lets Django answer what nobody foresaw."""
    if isinstance(error, Http404):
        error = exceptions.NotFound()
    elif isinstance(error, PermissionDenied):
        error = exceptions.PermissionDenied()
    elif isinstance(error, OperationalError):
        response = problem(HTTPStatus.SERVICE_UNAVAILABLE, "The database is not reachable at this moment.")
        response["Retry-After"] = str(RETRY_AFTER_S)
        return response
    elif isinstance(error, PdfUnavailable):
        return problem(HTTPStatus.SERVICE_UNAVAILABLE, "This server cannot make PDFs at this moment.")
    if not isinstance(error, exceptions.APIException):
        return None
    response = problem(error.status_code, str(error.detail))
    if header := getattr(error, "auth_header", None):
        response["WWW-Authenticate"] = header
    if wait_s := getattr(error, "wait", None):
        response["Retry-After"] = str(wait_s)
    return response
