"""Sending the outbox of webhooks (`jobs.work_queue.outbox`): post in parallel, record each answer as it comes.

One webhook gets one delivery at a time; after a failure it gets no other in the same round. One that does not answer
occupies one place until its timeout, those of one owner at most two, so that the posts of others go on.
"""

import logging
import time
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from jobs.tallies.services import add
from jobs.work_queue.services import is_of_the_database
from reports.early.planning import EarlySilence
from reports.early.services.telling import sample_word, told_words
from reports.early.told import dearest_first
from reports.models import Webhook, WebhookDelivery
from reports.webhooks.rules import Answer
from reports.webhooks.selectors import next_post, webhooks_to_try, words_of, working_webhooks
from reports.webhooks.services.outcomes import POSTS, record_answer, release_untold
from reports.webhooks.services.posting import post
from reports.webhooks.services.secrets import (
    DELIVERY_HEADER,
    SIGNATURE_HEADER,
    Unreadable,
    address_of,
    signature,
    signing_secret,
)
from reports.webhooks.shape import Shape
from reports.webhooks.shapes import Post, body_of

AT_ONCE, OF_OWNER_AT_ONCE, ROUND_S = 8, 2, 60.0
NOT_WORKING = "switched_off_or_not_allowed"

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Ready:
    """A claimed delivery as it goes out."""

    delivery: WebhookDelivery
    address: str
    body: bytes
    headers: dict[str, str]


@dataclass
class Round:
    """The posts of one round that are under way, and the webhooks that failed in it, which are left alone."""

    pool: ThreadPoolExecutor
    under_way: dict[Future[Answer], Ready] = field(default_factory=dict)
    failed: set[int] = field(default_factory=set)

    def start(self, now: datetime) -> None:
        """Start what is due, as far as there are places."""
        while (places := AT_ONCE - len(self.under_way)) > 0:
            webhooks = [ready.delivery.webhook for ready in self.under_way.values()]
            without = self.failed | {webhook.pk for webhook in webhooks}
            owners = Counter(webhook.owner_id for webhook in webhooks)
            claimed = claim_some(now, without, owners, places)
            if not claimed:
                return
            for ready in _ready(claimed, now):
                self.under_way[self.pool.submit(_posted, ready)] = ready

    def record(self, now: datetime | None) -> int:
        """Wait for the next answers and store them; how many deliveries were taken."""
        taken = 0
        for future in wait(self.under_way, return_when=FIRST_COMPLETED).done:
            delivery, answer = self.under_way.pop(future).delivery, future.result()
            taken += record_answer(delivery, answer, now or timezone.now())
            if not answer.is_taken:
                self.failed.add(delivery.webhook_id)
        return taken


def send_posts(now: datetime | None = None, round_s: float = ROUND_S) -> int:
    """Start what is due until `round_s` is over, and record each answer as it comes; how many deliveries were taken."""
    sent, began_s = 0, time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        current = Round(pool)
        while True:
            if time.monotonic() - began_s < round_s:
                current.start(now or timezone.now())
            if not current.under_way:
                return sent
            sent += current.record(now)


def claim_some(
    now: datetime, without: Collection[int], owners: Mapping[int, int] | None = None, places: int = AT_ONCE
) -> list[WebhookDelivery]:
    """The next delivery of each of some webhooks, claimed by this worker; empty when none is free.

    `owners` states how many posts are under way for each owner already.
    """
    taken, claimed = Counter(owners), []
    full = [owner for owner, posts in taken.items() if posts >= OF_OWNER_AT_ONCE]
    with transaction.atomic():
        rows = webhooks_to_try(now).exclude(pk__in=without).exclude(owner__in=full)
        for webhook in rows.select_for_update(skip_locked=True, of=("self",))[:places]:
            delivery = next_post(webhook, now) if taken[webhook.owner_id] < OF_OWNER_AT_ONCE else None
            if delivery is not None and POSTS.claim(delivery, now):
                taken[webhook.owner_id] += 1
                claimed.append(delivery)
    return claimed


def _ready(claimed: Sequence[WebhookDelivery], now: datetime) -> Iterator[Ready]:
    """What goes out of these: the choices and words of this very moment; the others get a reason."""
    working = working_webhooks().select_related("owner", "project").in_bulk([each.webhook_id for each in claimed])
    for delivery in claimed:
        webhook = working.get(delivery.webhook_id)
        if webhook is None:
            add(POSTS.suppress(delivery, NOT_WORKING))
            continue
        delivery.webhook = webhook
        try:
            made = _made(delivery, webhook, now)
        except Exception as error:
            if is_of_the_database(error):
                raise
            # An error of ours in one body: it is tried again later, and the others are sent.
            log.exception("delivery %s could not be written", delivery.pk)
            add(POSTS.put_off(delivery, f"could not be written: {type(error).__name__}", now))
            continue
        if made is None:
            add(POSTS.suppress(delivery, EarlySilence.OVER.value))
        elif POSTS.hand_over(delivery, now):
            yield made


def _made(delivery: WebhookDelivery, webhook: Webhook, now: datetime) -> Ready | None:
    """The delivery with its body; None where none of its words holds."""
    words = (
        [sample_word(webhook.owner, now)]
        if delivery.is_test
        else dearest_first(told_words(list(words_of(delivery, now)), now))
    )
    release_untold(delivery, [word.pk for word in words])
    if not words:
        return None
    key = str(delivery.key)
    body = body_of(Shape(webhook.shape), Post(key, words, now, is_test=delivery.is_test))
    headers = {"Content-Type": "application/json", DELIVERY_HEADER: key}
    if webhook.shape == Shape.GENERIC:
        headers[SIGNATURE_HEADER] = signature(signing_secret(webhook), int(now.timestamp()), body)
    try:
        address = address_of(webhook)
    except Unreadable:
        address = ""
    return Ready(delivery, address, body, headers)


def _posted(ready: Ready) -> Answer:
    """In a thread, without the database."""
    if not ready.address:
        return Answer(0, "its address cannot be read: the key of the site has changed", is_refused=True)
    return post(ready.address, ready.body, ready.headers)
