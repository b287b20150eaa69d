"""Asking every documentation link whether it still answers, and marking those that do not."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from urllib.parse import quote, urlsplit, urlunsplit

from django.db.models import DateTimeField, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from education.models import LessonLink, LinkCheck
from jobs.failures.selectors import due_again
from jobs.failures.services import Work, attempt_each

SCHEMES = ("http", "https")
TIMEOUT_S = 10.0
AT_ONCE = 8
PROBLEM_CHARACTERS_MAX = 200
LEASE = timedelta(minutes=15)
"""After so long a check that has not ended lost its worker, and another takes it."""
USER_AGENT = "Kaiku link check"
LINK = "link check"
"""The kind of work that a failure is noted as where a link cannot be checked; its key is the link's row."""


@dataclass(frozen=True)
class Checked:
    """One address and what was wrong there; empty when it answered."""

    url: str
    problem: str


def check_links(
    timeout_s: float = TIMEOUT_S, now: datetime | None = None, only: Collection[int] | None = None
) -> list[Checked]:
    """Ask each address once, mark every link that has it, and answer all of them in alphabetic order.

    With `only` the addresses of those links. One whose check fails by a fault of ours stops no other.
    """
    now = now or timezone.now()
    links = LessonLink.objects.all() if only is None else LessonLink.objects.filter(pk__in=only)
    url_of = {pk: url for url, pk in dict(links.order_by("url", "pk").values_list("url", "pk")).items()}
    answers = ask_all(url_of.values(), lambda url: link_problem(url, timeout_s))
    checked: list[Checked] = []

    def step(pk: int) -> bool:
        checked.append(_marked(url_of[pk], answers[url_of[pk]], now))
        return True

    work = Work(LINK, step, still_due=lambda pks: [pk for pk in pks if pk in url_of], name=lambda pk: url_of[pk])
    attempt_each(work, [list(url_of)], now)
    return sorted(checked, key=lambda found: found.url)


def _marked(url: str, answer: str | Exception, now: datetime) -> Checked:
    """Note with every link of an address what was found there; what kept us from asking is raised here."""
    if isinstance(answer, Exception):
        raise answer
    since = Coalesce("broken_since", Value(now), output_field=DateTimeField()) if answer else None
    LessonLink.objects.filter(url=url).update(problem=answer, checked_at=now, broken_since=since)
    return Checked(url, answer)


def ask_for_check(now: datetime) -> None:
    """Have a worker check all links; while one waits or goes on, asking again changes nothing."""
    if not LinkCheck.objects.filter(ended_at=None).exists():
        LinkCheck.objects.create(asked_at=now)


def check_asked_links(now: datetime) -> bool:
    """Do the check that somebody asked for, or again what failed of the last one; False when there was neither."""
    waiting = LinkCheck.objects.filter(ended_at=None)
    if not waiting.filter(Q(begun_at=None) | Q(begun_at__lt=now - LEASE)).update(begun_at=now):
        again = due_again(LINK, now)
        return bool(again and check_links(now=now, only=again))
    check_links(now=now)
    waiting.filter(begun_at=now).update(ended_at=timezone.now())
    return True


def ask_all(addresses: Iterable[str], ask: Callable[[str], str]) -> dict[str, str | Exception]:
    """Several addresses at a time; no database connection is used in the threads. A fault of ours is an answer too."""

    def answer(url: str) -> str | Exception:
        try:
            return ask(url)
        except Exception as error:
            return error

    urls = list(addresses)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(urls, pool.map(answer, urls), strict=True))


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
        return f"no answer within {timeout_s:g} s" if is_late else _not_reached(error.reason)
    except (OSError, ValueError, OverflowError, http.client.HTTPException) as error:
        return _not_reached(error or type(error).__name__)


def _not_reached(said: object) -> str:
    """Why, without what no page shows and no database keeps: a server may have said it."""
    return "".join(filter(str.isprintable, f"not reached: {said}"))[:PROBLEM_CHARACTERS_MAX]


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
