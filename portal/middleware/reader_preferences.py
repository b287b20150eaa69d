"""Middleware: how a reader's pages look, as chosen in the settings or else as the browser says."""

from __future__ import annotations

from collections.abc import Callable
from datetime import tzinfo
from functools import cache
from zoneinfo import ZoneInfo, available_timezones

from django.db import OperationalError
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

COOKIE = "kaiku_tz"
"""What `static/js/time_zone.js` keeps: an IANA name such as Europe/Helsinki."""


@cache
def zone_names() -> frozenset[str]:
    """Every zone that a reader may have; names without a place, such as Factory, are no zones of people."""
    return frozenset({"UTC", *(name for name in available_timezones() if "/" in name)})


class Reader:
    """Within a request Django's current zone is the reader's, TIME_ZONE without one; `request.theme` is the chosen one.

    Error pages take it from there: the person cannot be asked for once the database is away.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        request.theme = _chosen(request, "theme")  # type: ignore[attr-defined]  # for the templates
        with timezone.override(reader_zone(request)):
            return self.get_response(request)


def reader_zone(request: HttpRequest) -> tzinfo | None:
    """The chosen zone before the browser's; None where neither names one that exists."""
    names = (_chosen(request, "time_zone"), request.COOKIES.get(COOKIE, ""))
    return next((ZoneInfo(name) for name in names if name in zone_names()), None)


def _chosen(request: HttpRequest, name: str) -> str:
    """What the person chose. With the database away that is nothing: the page itself says what is wrong."""
    try:
        return getattr(request.user, name, "")
    except OperationalError:
        return ""
