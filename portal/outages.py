"""Middleware: a person who meets a database that is away gets a page that says so, and when to come back."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from portal.api.problems import RETRY_AFTER_S

logger = logging.getLogger(__name__)


class OutagePage:
    """503 in the portal's style instead of a fault; the API answers for itself."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, OperationalError):
            return None
        logger.error("the database is not reachable: %s", error)
        status = HTTPStatus.SERVICE_UNAVAILABLE
        return HttpResponse(render_to_string("503.html"), status=status, headers={"Retry-After": str(RETRY_AFTER_S)})
