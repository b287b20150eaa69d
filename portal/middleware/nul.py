"""Middleware: requests that contain a NUL character are answered with 400 before any other code processes them.

PostgreSQL cannot store NUL in text and rejects each statement that has one as a parameter (its documentation, 8.3),
which would be an error of the page. Bodies of the ingest are JSON: there each field is checked separately.
"""

from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus

from django.core.exceptions import BadRequest, SuspiciousOperation
from django.http import HttpRequest, HttpResponse, QueryDict
from django.http.multipartparser import MultiPartParserError
from django.http.request import UnreadablePostError
from django.utils.deprecation import MiddlewareMixin
from django.views.defaults import bad_request

from portal.api.problems import problem_answer
from portal.ingest.door import SCHEMAS
from portal.mlflow.answers import invalid, refusal

NUL = "\0"
OF_PROGRAMS = ("/api/", "/webhooks/", "/embed/last-jobs.json")
"""How the addresses begin that programs read; all others answer with a page."""
WHY = "The request contains a NUL character, which is not allowed in any value."


class NoNul(MiddlewareMixin):
    """Checks the path, the query, the cookies and the form, names and values, as Django decodes them.

    Unpaired surrogates need no check: Django replaces invalid UTF-8 in all of these.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        return _refusal(request) if any(NUL in text for text in _texts(request)) else None


def _texts(request: HttpRequest) -> Iterator[str]:
    yield request.path_info
    for name, value in request.COOKIES.items():
        yield from (name, value)
    yield from _of(request.GET)
    # Reading a form reads the body, which the ingest reads itself and within its own limits.
    if request.path_info not in SCHEMAS:
        # A body that cannot be read as a form is left to the view.
        with suppress(UnreadablePostError, SuspiciousOperation, MultiPartParserError):
            yield from _of(request.POST)
            yield from (each.name or "" for _, files in request.FILES.lists() for each in files)


def _of(fields: QueryDict) -> Iterator[str]:
    for name, values in fields.lists():
        yield name
        yield from values


def _refusal(request: HttpRequest) -> HttpResponse:
    if request.path_info.startswith("/mlflow/") and (answer := refusal(invalid(WHY))):
        return HttpResponse(answer.content, answer.content_type, answer.status)
    if not request.path_info.startswith(OF_PROGRAMS):
        return bad_request(request, BadRequest(WHY))
    return problem_answer(HTTPStatus.BAD_REQUEST, WHY)
