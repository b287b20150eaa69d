"""Middleware: each request has an identifier, in every line of the log that it causes and in the headers of its
answer."""

from collections.abc import Callable, Mapping

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from portal.logs import during_request

HEADER = "X-Request-ID"


class RequestId:
    """The outermost middleware, so every answer has the identifier."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with during_request(given(request.headers)) as request_id:
            request.request_id = request_id  # type: ignore[attr-defined]  # for the templates
            answer = self.get_response(request)
        answer[HEADER] = request_id
        return answer


def given(headers: Mapping[str, str]) -> str:
    """The identifier that a proxy gave the request; it is accepted from nobody else. Header names in any case."""
    return headers.get(HEADER, headers.get(HEADER.lower(), "")) if settings.IS_BEHIND_PROXY else ""
