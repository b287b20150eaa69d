"""The calls of the API, for programs and for people; open to everyone, because it contains nothing about any job."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from portal.api.openapi import document
from portal.api.operation import ACCESS
from portal.api.operations import OPERATIONS


@require_safe
def schema(request: HttpRequest) -> JsonResponse:
    """The OpenAPI document."""
    return JsonResponse(document())


@require_safe
def docs(request: HttpRequest) -> HttpResponse:
    """The calls as a page."""
    return render(
        request, "portal/api/api_docs.html", {"operations": [(call, ACCESS[call.access]) for call in OPERATIONS]}
    )
