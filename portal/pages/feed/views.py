"""The feed of a person's own reports for feed readers, which send no headers: its address contains a token.

Such a token reads nothing else (`Token.Kind.FEED`). Readers that take a password have it there instead. No log
contains addresses of pages, and the feed refers to none with the token. It is Atom (RFC 4287), its texts plain text.
"""

import base64
import binascii
import hashlib
from collections.abc import Sequence
from datetime import datetime
from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.cache import get_conditional_response
from django.utils.feedgenerator import Atom1Feed
from django.utils.http import http_date
from django.views.decorators.http import require_safe

from jobs.models import Token, User
from portal.rate_limits import ANONYMOUS_API, API, count_call
from portal.sign_in.attempts import client_address
from portal.sign_in.personal_tokens import token_and_holder
from reports.early.selectors import early_choice, feed_words, job_ends, unsure_words
from reports.early.services.telling import told_words
from reports.feed import FeedEntry, early_entry, feed_entry
from reports.mail.view import Told
from reports.selectors import latest_reports, made_report
from reports.services.links import job_address

ENTRIES_MAX = 50
CONTENT_TYPE = "application/atom+xml; charset=utf-8"
CHALLENGE = 'Basic realm="Kaiku feed", charset="UTF-8"'

SINCE = "2026"
"""The year in which the portal's addresses began to be names (RFC 4151 wants a date in each tag)."""


@require_safe
def reports_feed(request: HttpRequest, secret: str = "") -> HttpResponse:
    """The latest reports of the owner of the token; 304 where the reader has them already."""
    found = _holder(secret or _password(request))
    if found is None:
        wait_s = count_call(ANONYMOUS_API, f"address {client_address(request)}")
        return _too_often(wait_s) if wait_s else _unknown(is_in_address=bool(secret))
    token, user = found
    wait_s = count_call(API, f"user {user.pk}")
    return _too_often(wait_s) if wait_s else _answer(request, token, user)


def _answer(request: HttpRequest, token: Token, user: User) -> HttpResponse:
    feed = atom(_entries(user), user.username, settings.SITE_URL, reverse("reports-feed"), token.created_at)
    answer = HttpResponse(feed.writeString("utf-8"), content_type=CONTENT_TYPE, headers=PRIVATE)
    answer["ETag"] = f'"{hashlib.sha256(answer.content).hexdigest()[:32]}"'
    changed = int(feed.latest_post_date().timestamp())
    answer["Last-Modified"] = http_date(changed)
    return get_conditional_response(request, etag=answer["ETag"], last_modified=changed, response=answer) or answer


PRIVATE = {"Cache-Control": "private, no-cache", "Referrer-Policy": "no-referrer", "X-Robots-Tag": "noindex"}


def _entries(user: User) -> list[FeedEntry]:
    """The latest reports, and words about running jobs for who wants them here; the last changed first."""
    reports = [
        feed_entry(Told(made_report(row), job_address(row.job)), row.job.ended_at, row.published_at)
        for row in latest_reports(user, ENTRIES_MAX)
    ]
    if not early_choice(user).in_feed:
        return reports
    words = list(feed_words(user, ENTRIES_MAX))
    now = timezone.now()
    told, ends, unsure = told_words(words, now), job_ends(words), unsure_words(words, now)
    early = [
        early_entry(each, word.over_at, ends.get(word.pk), is_unsure=word.pk in unsure)
        for each, word in zip(told, words, strict=True)
    ]
    return sorted([*reports, *early], key=lambda each: each.published_at, reverse=True)[:ENTRIES_MAX]


def _holder(secret: str) -> tuple[Token, User] | None:
    """The token and its owner; None also for a token of another kind, which nobody should put into an address."""
    found = token_and_holder(secret, timezone.now())
    return found if found and found[0].kind == Token.Kind.FEED else None


def _password(request: HttpRequest) -> str:
    """The password of HTTP's basic authentication (RFC 7617); empty without one. The name does not matter."""
    scheme, _, encoded = request.headers.get("Authorization", "").partition(" ")
    if scheme.lower() != "basic":
        return ""
    try:
        return base64.b64decode(encoded, validate=True).decode().partition(":")[2]
    except (binascii.Error, UnicodeDecodeError):
        return ""


def _unknown(*, is_in_address: bool) -> HttpResponse:
    """The token is not valid, or there is none."""
    text = "This feed is not here. Its token may be expired or revoked: create a new one under Settings, API tokens.\n"
    status = HTTPStatus.NOT_FOUND if is_in_address else HTTPStatus.UNAUTHORIZED
    headers = {} if is_in_address else {"WWW-Authenticate": CHALLENGE}
    return HttpResponse(text, status=status, content_type="text/plain; charset=utf-8", headers=headers)


def _too_often(wait_s: int) -> HttpResponse:
    status, headers = HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": str(wait_s)}
    return HttpResponse("Too many requests.\n", status=status, content_type="text/plain", headers=headers)


class PlainAtom(Atom1Feed):
    """Summaries as text: Django's own are HTML, in which the name of a job would be markup."""

    def add_item_elements(self, handler: Any, item: dict[str, Any]) -> None:
        super().add_item_elements(handler, item)
        handler.addQuickElement("summary", item["text"], {"type": "text"})

    def latest_post_date(self) -> datetime:
        """When an entry changed last; of an empty feed when it was created, not now, so that it stays the same."""
        dates: list[datetime] = [item["updateddate"] for item in self.items]
        created_at: datetime = self.feed["created_at"]
        return max(dates, default=created_at)


def atom(entries: Sequence[FeedEntry], username: str, portal: str, address: str, created_at: datetime) -> PlainAtom:
    """The feed; `portal` is the portal's address, `address` that of the feed without a token."""
    host = urlsplit(portal).hostname or ""
    feed = PlainAtom(
        title=f"Kaiku: reports of {username}",
        link=f"{portal}/",
        description=None,
        language="en-gb",
        author_name="Kaiku",
        feed_url=f"{portal}{address}",
        feed_guid=f"tag:{host},{SINCE}:reports/{username}",
        subtitle="How well your GPU jobs used their GPUs, and what to request next time.",
        created_at=created_at,
    )
    for each in entries:
        feed.add_item(
            title=each.title,
            link=each.url,
            description=None,  # type: ignore[arg-type]  # without one Django writes no summary of its own
            unique_id=f"tag:{host},{SINCE}:job/{each.key}",
            pubdate=each.published_at,
            updateddate=each.updated_at,
            text=each.text,
        )
    return feed
