"""How often an address or a name may try to sign in; counted in the cache that all portal processes share."""

from __future__ import annotations

import hashlib
import logging

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from redis.exceptions import RedisError

WINDOW_S = 300
PER_NAME_MAX = 8  # wrong passwords for one name from one address
PER_ADDRESS_MAX = 60  # attempts from one address: a whole institute may share one

log = logging.getLogger(__name__)


def is_exhausted(request: HttpRequest, name: str = "") -> bool:
    """Has this address, or this name from it, used up its attempts of the last minutes."""
    return any(_count(key) >= most for key, most in _limits(request, name))


def count_attempt(request: HttpRequest, name: str = "") -> None:
    """One more attempt. A cache that is away counts nothing: signing in must not depend on it."""
    for key, _ in _limits(request, name):
        try:
            cache.add(key, 0, WINDOW_S)
            cache.incr(key)
        except (RedisError, OSError, ValueError):
            log.warning("the cache is away: sign-in attempts are not counted")


def too_many(request: HttpRequest) -> HttpResponse:
    """The page that says so, with the time to wait."""
    answer = render(request, "portal/sign_in_paused.html", {"minutes": WINDOW_S // 60}, status=429)
    answer["Retry-After"] = str(WINDOW_S)
    return answer


def client_address(request: HttpRequest) -> str:
    """The address of the browser; behind a proxy the last one that the proxy itself added."""
    forwarded = request.headers.get("X-Forwarded-For", "") if settings.IS_BEHIND_PROXY else ""
    return forwarded.rpartition(",")[2].strip() or request.META.get("REMOTE_ADDR", "")


def _limits(request: HttpRequest, name: str) -> list[tuple[str, int]]:
    address = client_address(request)
    limits = [(_key(address), PER_ADDRESS_MAX)]
    return [*limits, (_key(address, name.lower()), PER_NAME_MAX)] if name else limits


def _key(*parts: str) -> str:
    return "sign-in:" + hashlib.sha256("\0".join(parts).encode(errors="replace")).hexdigest()


def _count(key: str) -> int:
    try:
        return cache.get(key, 0)
    except (RedisError, OSError):
        return 0
