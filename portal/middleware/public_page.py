"""Middleware: the public page is the same for everybody, so that every cache may keep it."""

from collections.abc import Callable

from django.conf import settings
from django.http import HttpRequest, HttpResponse

PUBLIC = "/public/"


class PublicPage:
    """Before the session: cookies are neither read nor set for this page, so that no answer depends on them."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not settings.PUBLIC_PAGE or request.path_info != PUBLIC:
            return self.get_response(request)
        request.COOKIES = {}
        answer = self.get_response(request)
        # The middlewares behind this one looked for a person, and there can be none.
        del answer["Vary"]
        return answer
