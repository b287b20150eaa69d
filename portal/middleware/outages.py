"""A server that cannot work at the moment states this in plain words, to people as a page and to programs as a
problem."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string
from django.views.defaults import server_error as unforeseen

from portal.api.problems import ProblemRenderer, problem
from portal.ingest.door import RETRY_AFTER_S
from portal.logs import type_of
from portal.troubles import Trouble, trouble

API = "/api/v1/"

logger = logging.getLogger(__name__)


class OutagePage:
    """503 in the portal's style instead of an error; the API's views answer themselves."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return self.get_response(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        found = trouble(error)
        if found is None:
            return None
        logger.error("%s: %s", found.status, type_of(error))
        return _answer(request, found)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler for errors outside views, such as a session that cannot be stored after the page was
    rendered."""
    found = trouble(sys.exc_info()[1])
    return _answer(request, found) if found else unforeseen(request)


def _answer(request: HttpRequest, found: Trouble) -> HttpResponse:
    status = HTTPStatus.SERVICE_UNAVAILABLE
    again = {"Retry-After": str(RETRY_AFTER_S)}
    if request.path.startswith(API):
        said = problem(status, found.sentence).data
        return JsonResponse(said, status=status, content_type=ProblemRenderer.media_type, headers=again)
    page = render_to_string("503.html", {"sentence": found.sentence, "request": request})
    return HttpResponse(page, status=status, headers=again)
