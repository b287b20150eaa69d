"""Sending the outbox of webhooks: claim, post in parallel, record; each step is committed.

A worker that ends between posting and recording leaves the row so. It is posted once more when the lease is over, with
the same number, so at most that one delivery repeats; a second such end gives up. One webhook gets one delivery at a
time; after a failure it gets no other in the same round, so a dead one costs each round one timeout.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from reports.early.planning import EarlySilence
from reports.early.services.telling import sample_word, told_words
from reports.models import Webhook, WebhookDelivery
from reports.retries import INTERRUPTIONS_MAX
from reports.webhooks.rules import Answer
from reports.webhooks.selectors import due_posts, webhooks_to_try, words_of, working_webhooks
from reports.webhooks.services.outcomes import give_up, held, record_answer, suppress
from reports.webhooks.services.posting import post
from reports.webhooks.services.secrets import Unreadable, address_of, signing_secret
from reports.webhooks.shapes import Post, Shape, body_of
from reports.webhooks.signing import DELIVERY_HEADER, SIGNATURE_HEADER, signature

AT_ONCE, ROUND_S = 8, 60.0
NOT_WORKING, INTERRUPTED = "switched_off_or_not_allowed", "interrupted_twice"


@dataclass(frozen=True)
class Ready:
    """A claimed delivery as it goes out."""

    delivery: WebhookDelivery
    address: str
    body: bytes
    headers: dict[str, str]


def send_posts(now: datetime | None = None, round_s: float = ROUND_S) -> int:
    """Post what is due until `round_s` is over; how many deliveries were taken."""
    sent, began_s, failed = 0, time.monotonic(), set[int]()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while time.monotonic() - began_s < round_s:
            at = now or timezone.now()
            claimed = claim_some(at, failed)
            if not claimed:
                break
            ready = list(_ready(claimed, at))
            answers = list(pool.map(_posted, ready))
            for each, answer in zip(ready, answers, strict=True):
                sent += record_answer(each.delivery, answer, now or timezone.now())
                if not answer.is_taken:
                    failed.add(each.delivery.webhook_id)
    return sent


def claim_some(now: datetime, without: set[int]) -> list[WebhookDelivery]:
    """The next delivery of each of some webhooks, claimed by this worker; empty when none is free."""
    with transaction.atomic():
        rows = webhooks_to_try(now).exclude(pk__in=without)
        webhooks = rows.select_for_update(skip_locked=True, of=("self",))[:AT_ONCE]
        found = (due_posts(now).filter(webhook=webhook).first() for webhook in webhooks)
        return [delivery for delivery in found if delivery is not None and _claim(delivery, now)]


def _claim(delivery: WebhookDelivery, now: datetime) -> bool:
    delivery.interruptions += delivery.handed_at is not None
    if delivery.interruptions > INTERRUPTIONS_MAX:
        give_up(delivery, INTERRUPTED)
        return False
    delivery.state, delivery.claimed_at, delivery.handed_at = WebhookDelivery.State.SENDING, now, None
    delivery.attempts += 1
    delivery.save(update_fields=["state", "claimed_at", "handed_at", "attempts", "interruptions"])
    return True


def _ready(claimed: Sequence[WebhookDelivery], now: datetime) -> Iterator[Ready]:
    """What goes out of these: the choices and words of this very moment; the others get a reason."""
    working = working_webhooks().select_related("owner", "project").in_bulk([each.webhook_id for each in claimed])
    for delivery in claimed:
        webhook = working.get(delivery.webhook_id)
        if webhook is None:
            suppress(delivery, NOT_WORKING)
            continue
        delivery.webhook = webhook
        made = _made(delivery, webhook, now)
        if made is None:
            suppress(delivery, EarlySilence.OVER.value)
        elif held(delivery).update(handed_at=now):
            delivery.handed_at = now
            yield made


def _made(delivery: WebhookDelivery, webhook: Webhook, now: datetime) -> Ready | None:
    """The delivery with its body; None where none of its words holds."""
    words = [sample_word(webhook.owner, now)] if delivery.is_test else told_words(list(words_of(delivery)), now)
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
