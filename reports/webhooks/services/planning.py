"""Turning words that hold into deliveries of webhooks, one webhook at a time."""

from datetime import UTC, datetime
from functools import partial

from django.db import transaction

from jobs.work_queue.services import Work, attempt_each
from reports.early.planning import EarlyMessage, plan_messages
from reports.early.selectors import open_words
from reports.models import Webhook, WebhookDelivery, WebhookWord
from reports.webhooks.selectors import (
    new_words_for,
    past_posts,
    still_with_words,
    webhook_name,
    webhooks_with_words,
    words_waiting,
    working_webhooks,
)
from reports.webhooks.shapes import WORDS_MAX

WEBHOOK_WORDS = "words for a webhook"
"""The kind of work of a failure to plan a webhook's deliveries; its key is the webhook."""


def plan_posts(limit: int, now: datetime) -> int:
    """Fill the outbox of webhooks, up to `limit` of them; how many deliveries were added."""
    work = Work(
        WEBHOOK_WORDS,
        partial(plan_webhook, now=now),
        still_due=partial(still_with_words, now=now),
        is_recurring=True,
        name=webhook_name,
    )
    return attempt_each(work, [webhooks_with_words(now)[:limit]], now).done


def plan_webhook(webhook_pk: int, now: datetime) -> int:
    """The delivery that is due for one webhook, at any time of the day; none while another worker plans it."""
    with transaction.atomic():
        webhook = working_webhooks().select_for_update(skip_locked=True, of=("self",)).filter(pk=webhook_pk).first()
        if webhook is None:
            return 0
        past = past_posts(webhook, now)
        # What a body has no room for is in the next post.
        words = open_words(new_words_for(webhook, now))[: max(WORDS_MAX - words_waiting(past.waiting), 0)]
        planned = plan_messages(words, past, now, UTC, at_night=True)
        return sum(_store(webhook, message, now) for message in planned)


def _store(webhook: Webhook, message: EarlyMessage, now: datetime) -> int:
    pk = message.delivery_pk
    if pk is None:
        state = WebhookDelivery.State.SUPPRESSED if message.reason else WebhookDelivery.State.PENDING
        columns = {"state": state, "reason": message.reason or "", "created_at": now, "due_at": now}
        pk = WebhookDelivery.objects.create(webhook=webhook, **columns).pk
    WebhookWord.objects.bulk_create(
        WebhookWord(webhook=webhook, word_id=word.pk, delivery_id=pk, work=word.work[1]) for word in message.words
    )
    return int(message.delivery_pk is None and message.reason is None)
