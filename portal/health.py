"""Liveness and readiness: whether this process answers, and whether it can do its work."""

from __future__ import annotations

from http import HTTPStatus

from django.db import DatabaseError, connection
from django.http import HttpRequest, JsonResponse
from django.views.decorators.http import require_safe


@require_safe
def healthz(request: HttpRequest) -> JsonResponse:
    """200 while the process answers at all."""
    return JsonResponse({"status": "ok"})


@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 while the database answers; 503 otherwise, without saying more to whoever asks."""
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return JsonResponse({"status": "database unreachable"}, status=HTTPStatus.SERVICE_UNAVAILABLE)
    return JsonResponse({"status": "ok"})
