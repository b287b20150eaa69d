"""The feed of a person's reports as Atom (RFC 4287), its texts as plain text."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from urllib.parse import urlsplit

from django.utils.feedgenerator import Atom1Feed

from reports.feed import FeedEntry

SINCE = "2026"
"""The year in which the portal's addresses began to be names (RFC 4151 wants a date in each tag)."""


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
