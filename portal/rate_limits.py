"""How often somebody may request what is expensive; counted in the cache that all portal processes share."""

import hashlib
import logging
import time
from collections.abc import Callable
from functools import wraps
from http import HTTPStatus

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from redis.exceptions import RedisError

from portal.sign_in.attempts import client_address

API, ANONYMOUS_API, DOWNLOADS = "API_CALLS_PER_MINUTE", "ANONYMOUS_API_CALLS_PER_MINUTE", "DOWNLOADS_PER_MINUTE"
OWN_RUNS, CHANGES = "OWN_RUN_CALLS_PER_MINUTE", "CHANGES_PER_MINUTE"
DEVICE_SIGN_INS, RUN_CALLS = "DEVICE_SIGN_INS_PER_MINUTE", "RUN_CALLS_PER_MINUTE"
"""The limits, by the settings that contain their values."""
WINDOW_S = 60

log = logging.getLogger(__name__)


def seconds_to_wait(limit: str, request: HttpRequest) -> int:
    """Count one more request of this client within this minute; see `count_call`."""
    return count_call(limit, _who(request))


def count_call(limit: str, who: str) -> int:
    """Count one more within this minute: 0 while within the limit, else the seconds until the next minute.

    If the cache is unreachable, nothing is counted: reading must not depend on it.
    """
    window, passed_s = divmod(int(time.time()), WINDOW_S)
    key = "limit:" + hashlib.sha256(f"{limit}\0{who}\0{window}".encode(errors="replace")).hexdigest()
    try:
        cache.add(key, 0, 2 * WINDOW_S)
        count = cache.incr(key)
    except (RedisError, OSError, ValueError):
        log.warning("the cache is unreachable: calls are not counted")
        return 0
    return WINDOW_S - passed_s if count > getattr(settings, limit) else 0


def limited(limit: str) -> Callable[[Callable[..., HttpResponseBase]], Callable[..., HttpResponseBase]]:
    """A page that clients who request it too often get only after a wait."""

    def decorate(view: Callable[..., HttpResponseBase]) -> Callable[..., HttpResponseBase]:
        @wraps(view)
        def counted(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            wait_s = seconds_to_wait(limit, request)
            return too_often(request, wait_s) if wait_s else view(request, *args, **kwargs)

        return counted

    return decorate


def too_often(request: HttpRequest, wait_s: int) -> HttpResponse:
    """The page that states when to retry."""
    answer = render(request, "429.html", {"seconds": wait_s}, status=HTTPStatus.TOO_MANY_REQUESTS)
    answer["Retry-After"] = str(wait_s)
    return answer


def _who(request: HttpRequest) -> str:
    """A person, whatever the browser, program and address; for anonymous requests the address."""
    user = getattr(request, "user", None)
    return f"user {user.pk}" if user is not None and user.is_authenticated else f"address {client_address(request)}"
