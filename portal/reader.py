"""Middleware: pages tell times in the reader's zone, the one chosen in the settings or else the browser's own."""

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


class ReaderZone:
    """Within a request the current zone of Django is the reader's; without one it is TIME_ZONE."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with timezone.override(reader_zone(request)):
            return self.get_response(request)


def reader_zone(request: HttpRequest) -> tzinfo | None:
    """The chosen zone before the browser's; None where neither names one that exists."""
    names = (_chosen(request), request.COOKIES.get(COOKIE, ""))
    return next((ZoneInfo(name) for name in names if name in zone_names()), None)


def _chosen(request: HttpRequest) -> str:
    """The zone in the person's settings. With the database away there is none: the page itself says what is wrong."""
    try:
        return getattr(request.user, "time_zone", "")
    except OperationalError:
        return ""
