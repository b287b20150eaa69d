"""Middleware: the reader's time zone and colours, as chosen in the settings or otherwise as the browser states."""

from collections.abc import Callable
from datetime import tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

COOKIE = "kaiku_tz"
"""The cookie set by `static/js/time_zone.js`: an IANA name such as Europe/Helsinki."""


@cache
def zone_names() -> frozenset[str]:
    """Every zone that a reader may have; names without a place, such as Factory, are not zones of people."""
    return frozenset({"UTC", *(name for name in available_timezones() if "/" in name)})


class Reader:
    """During a request Django's current zone is the reader's, otherwise TIME_ZONE; `request.theme` is the chosen theme.

    Error pages use these values, because the person cannot be looked up while the database is unreachable.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.theme = _chosen(request, "theme")  # type: ignore[attr-defined]  # for the templates
        with timezone.override(reader_zone(request)):
            return self.get_response(request)


def reader_zone(request: HttpRequest) -> tzinfo | None:
    """The chosen zone, otherwise the browser's; None if neither is an existing zone."""
    names = (_chosen(request, "time_zone"), request.COOKIES.get(COOKIE, ""))
    return next((ZoneInfo(name) for name in names if name in zone_names()), None)


def _chosen(request: HttpRequest, name: str) -> str:
    """What the person chose. With an unreachable database nothing: the page itself reports the problem."""
    try:
        return getattr(request.user, name, "")
    except OperationalError:
        return ""
