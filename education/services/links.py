"""Checking whether every documentation link still answers, and marking those that do not."""

import http.client
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus

from django.db.models import DateTimeField, Q, Value
from django.db.models.functions import Coalesce
from django.utils import timezone

from education.models import LessonLink, LinkCheck
from education.public_addresses import is_public_site
from education.services.asking import Asking, MayReach, NotFollowed, named
from jobs.work_queue.selectors import due_again
from jobs.work_queue.services import Work, attempt_each

TIMEOUT_S = 10.0
AT_ONCE = 8
PROBLEM_CHARACTERS_MAX = 200
LEASE = timedelta(minutes=15)
"""A check that has not ended after this time has lost its worker, and another worker takes it."""
LINK = "link check"
"""The kind of work under which a failed check is recorded; its key is the link's row."""


@dataclass(frozen=True)
class Checked:
    """One address and its problem; empty when it answered."""

    url: str
    problem: str


def check_links(
    timeout_s: float = TIMEOUT_S,
    now: datetime | None = None,
    only: Collection[int] | None = None,
    may_reach: MayReach = is_public_site,
) -> list[Checked]:
    """Request each address once, mark every link that has it, and return all of them in alphabetic order.

    With `only` the addresses of those links; no connection is made where `may_reach` does not allow it. An address
    whose check fails by an error of ours does not stop the others.
    """
    now = now or timezone.now()
    links = LessonLink.objects.all() if only is None else LessonLink.objects.filter(pk__in=only)
    url_of = {pk: url for url, pk in dict(links.order_by("url", "pk").values_list("url", "pk")).items()}
    answers = ask_all(url_of.values(), lambda url: link_problem(url, timeout_s, may_reach))
    checked: list[Checked] = []

    def step(pk: int) -> bool:
        checked.append(_marked(url_of[pk], answers[url_of[pk]], now))
        return True

    work = Work(LINK, step, still_due=lambda pks: [pk for pk in pks if pk in url_of], name=lambda pk: url_of[pk])
    attempt_each(work, [list(url_of)], now)
    return sorted(checked, key=lambda found: found.url)


def _marked(url: str, answer: str | Exception, now: datetime) -> Checked:
    """Store with every link of an address what was found there; an error of our own is raised here."""
    if isinstance(answer, Exception):
        raise answer
    since = Coalesce("broken_since", Value(now), output_field=DateTimeField()) if answer else None
    LessonLink.objects.filter(url=url).update(problem=answer, checked_at=now, broken_since=since)
    return Checked(url, answer)


def ask_for_check(now: datetime) -> None:
    """Have a worker check all links; while a check waits or runs, another request changes nothing."""
    if not LinkCheck.objects.filter(ended_at=None).exists():
        LinkCheck.objects.create(asked_at=now)


def check_asked_links(now: datetime, may_reach: MayReach = is_public_site) -> bool:
    """Do the check that was requested, or repeat what failed in the last one; False when there was neither."""
    waiting = LinkCheck.objects.filter(ended_at=None)
    if not waiting.filter(Q(begun_at=None) | Q(begun_at__lt=now - LEASE)).update(begun_at=now):
        again = due_again(LINK, now)
        return bool(again and check_links(now=now, only=again, may_reach=may_reach))
    check_links(now=now, may_reach=may_reach)
    waiting.filter(begun_at=now).update(ended_at=timezone.now())
    return True


def ask_all(addresses: Iterable[str], ask: Callable[[str], str]) -> dict[str, str | Exception]:
    """Several addresses at a time; no database connection is used in the threads. An error of ours is returned too."""

    def answer(url: str) -> str | Exception:
        try:
            return ask(url)
        except Exception as error:
            return error

    urls = list(addresses)
    with ThreadPoolExecutor(AT_ONCE) as pool:
        return dict(zip(urls, pool.map(answer, urls), strict=True))


def link_problem(url: str, timeout_s: float = TIMEOUT_S, may_reach: MayReach = is_public_site) -> str:
    """Why this address is not reached, in a few words; empty when it is. HEAD first, GET where HEAD is refused.

    `timeout_s` bounds all of it: looking names up, connecting, redirects and both methods. No
    connection is made where `may_reach` does not allow it.
    """
    asking = Asking(timeout_s, may_reach)
    try:
        return _asked(asking, "HEAD", url) and _asked(asking, "GET", url)
    except NotFollowed as refused:
        return str(refused)
    except TimeoutError:
        return f"no answer within {timeout_s:g} s"


def _asked(asking: Asking, method: str, url: str) -> str:
    """What is wrong with the answer; raises NotFollowed and TimeoutError, after which another method is useless."""
    try:
        status = asking.status(method, url)
    except TimeoutError:
        raise
    except (OSError, ValueError, OverflowError, http.client.HTTPException) as error:
        # Without unprintable characters: a server may have sent it.
        said = f"not reached: {error or type(error).__name__}"
        return "".join(filter(str.isprintable, said))[:PROBLEM_CHARACTERS_MAX]
    return "" if HTTPStatus.OK <= status < HTTPStatus.MULTIPLE_CHOICES else named(status)
