"""What is wrong in plain words, as a page for people and as a problem for programs.

A server that cannot work at the moment, an unknown address, and one that does not take this method.
"""

import logging
import sys
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.loader import render_to_string
from django.utils.deprecation import MiddlewareMixin
from django.views.defaults import page_not_found
from django.views.defaults import server_error as unforeseen

from portal.api.problems import problem_answer
from portal.ingest.door import RETRY_AFTER_S
from portal.troubles import Trouble, logged_trouble, trouble

API, ANY_CALL = "/api/v1/", "/api/"

logger = logging.getLogger(__name__)


class ErrorPages(MiddlewareMixin):
    """503 in the portal's style instead of an error, and a page with the way back for 405; the API answers itself."""

    def process_response(self, request: HttpRequest, answer: HttpResponse) -> HttpResponse:
        if isinstance(answer, HttpResponseNotAllowed) and not answer.content and not request.path.startswith(ANY_CALL):
            answer.content = render_to_string("405.html", {"request": request})
        return answer

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        found = logged_trouble(error, logger)
        return _answer(request, found) if found else None


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's handler for errors outside views, such as a session that cannot be stored after the page was
    rendered."""
    found = trouble(sys.exc_info()[1])
    return _answer(request, found) if found else unforeseen(request)


def _answer(request: HttpRequest, found: Trouble) -> HttpResponse:
    status = HTTPStatus.SERVICE_UNAVAILABLE
    again = {"Retry-After": str(RETRY_AFTER_S)}
    if request.path.startswith(API):
        return problem_answer(status, found.sentence, again)
    page = render_to_string("503.html", {"sentence": found.sentence, "request": request})
    return HttpResponse(page, status=status, headers=again)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django's handler for 404; where programs call, the answer is problem JSON."""
    if not request.path.startswith(("/api/", "/webhooks/")):
        return page_not_found(request, exception)
    return problem_answer(HTTPStatus.NOT_FOUND, "There is no such call; /api/docs/ lists all calls.")
