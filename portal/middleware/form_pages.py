"""An address that does not take this method answers people with a page, not with an empty one."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.loader import render_to_string

API = "/api/"


class FormPage:
    """A page with the way back for 405; calls of the API answer themselves."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        answer = self.get_response(request)
        if isinstance(answer, HttpResponseNotAllowed) and not answer.content and not request.path.startswith(API):
            answer.content = render_to_string("405.html", {"request": request})
        return answer
