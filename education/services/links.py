"""Asking every documentation link whether it still answers, and marking those that do not."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from urllib.parse import quote, urlsplit, urlunsplit

from django.db.models import DateTimeField, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from education.models import LessonLink, LinkCheck

SCHEMES = ("http", "https")
TIMEOUT_S = 10.0
AT_ONCE = 8
PROBLEM_CHARACTERS_MAX = 200
LEASE = timedelta(minutes=15)
"""After so long a check that has not ended lost its worker, and another takes it."""
USER_AGENT = "Kaiku link check"


@dataclass(frozen=True)
class Checked:
    """One address and what was wrong there; empty when it answered."""

    url: str
    problem: str


def check_links(timeout_s: float = TIMEOUT_S, now: datetime | None = None) -> list[Checked]:
    """Ask each address once, mark every link that has it, and answer all of them in alphabetic order."""
    addresses = LessonLink.objects.order_by("url").values_list("url", flat=True).distinct()
    checked = ask_all(addresses, lambda url: link_problem(url, timeout_s))
    now = now or timezone.now()
    for found in checked:
        since = Coalesce("broken_since", Value(now), output_field=DateTimeField()) if found.problem else None
        LessonLink.objects.filter(url=found.url).update(problem=found.problem, checked_at=now, broken_since=since)
    return checked


def ask_for_check(now: datetime) -> None:
    """Have a worker check all links; while one waits or goes on, asking again changes nothing."""
    if not LinkCheck.objects.filter(ended_at=None).exists():
        LinkCheck.objects.create(asked_at=now)


def check_asked_links(now: datetime) -> bool:
    """Do the check that somebody asked for; False when nobody did or another worker is at it."""
    waiting = LinkCheck.objects.filter(ended_at=None)
    if not waiting.filter(Q(begun_at=None) | Q(begun_at__lt=now - LEASE)).update(begun_at=now):
        return False
    check_links(now=now)
    waiting.filter(begun_at=now).update(ended_at=timezone.now())
    return True


def ask_all(addresses: Iterable[str], ask: Callable[[str], str]) -> list[Checked]:
    """Several addresses at a time; no database connection is used in the threads."""
    urls = list(addresses)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return [Checked(url, problem) for url, problem in zip(urls, pool.map(ask, urls), strict=True)]


def link_problem(url: str, timeout_s: float = TIMEOUT_S) -> str:
    """Why this address is not reached, in a few words; empty when it is. HEAD first, GET where HEAD is refused."""
    if url.partition("://")[0].lower() not in SCHEMES:
        return "only http and https addresses are followed"
    return _asked("HEAD", url, timeout_s) and _asked("GET", url, timeout_s)


def _asked(method: str, url: str, timeout_s: float) -> str:
    try:
        request = urllib.request.Request(_ascii(url), method=method, headers={"User-Agent": USER_AGENT})  # noqa: S310 (http and https only, see link_problem and _opener)
        with _opener().open(request, timeout=timeout_s):
            return ""
    except urllib.error.HTTPError as error:
        error.close()
        return _named(error.code)
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"
    except urllib.error.URLError as error:
        is_late = isinstance(error.reason, TimeoutError)
        said = f"no answer within {timeout_s:g} s" if is_late else f"not reached: {error.reason}"
        return said[:PROBLEM_CHARACTERS_MAX]
    except (OSError, ValueError, http.client.HTTPException) as error:
        return f"not reached: {error or type(error).__name__}"[:PROBLEM_CHARACTERS_MAX]


def _opener() -> urllib.request.OpenerDirector:
    """A client of http and https alone: a redirect to any other scheme finds nobody who would follow it."""
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        urllib.request.HTTPHandler(),
        urllib.request.HTTPSHandler(),
        urllib.request.HTTPRedirectHandler(),
        urllib.request.HTTPErrorProcessor(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.UnknownHandler(),
    ):
        opener.add_handler(handler)
    return opener


def _named(code: int) -> str:
    try:
        return f"{code} {HTTPStatus(code).phrase}"
    except ValueError:
        return f"{code}"


def _ascii(url: str) -> str:
    """An address as it goes over the wire: letters beyond ASCII are written in percent, names of hosts in IDNA."""
    parts = urlsplit(url)
    host = parts.netloc if parts.netloc.isascii() else parts.netloc.encode("idna").decode()
    path, query = quote(parts.path, safe="/%:@!$&'()*+,;=~-._"), quote(parts.query, safe="/%:@!$&'()*+,;=~-._?")
    return urlunsplit((parts.scheme, host, path, query, ""))
