"""Recording what came of a delivery, with the delivery and with its webhook."""

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction

from jobs.tallies.kinds import WEBHOOK_POSTS, Counts
from jobs.tallies.services import add
from jobs.work_queue.outbox.selectors import held
from jobs.work_queue.outbox.services import Outbox
from reports.models import Webhook, WebhookDelivery, WebhookWord
from reports.webhooks.rules import Answer, is_over, pause

SWITCHED_OFF = "webhook_switched_off"
POSTS = Outbox(WebhookDelivery, WEBHOOK_POSTS)


def release_untold(delivery: WebhookDelivery, told: Collection[int]) -> None:
    """The words of this worker's delivery but these (`told`, their keys) are posted later, if they hold again then.

    Not where the receiver may have taken them already.
    """
    untold = held(delivery).filter(sent_at=None, interruptions=0)
    WebhookWord.objects.filter(delivery__in=untold).exclude(word__in=told).delete()


def record_answer(delivery: WebhookDelivery, answer: Answer, now: datetime) -> int:
    """Store what came of one try; 1 where the receiver took it."""
    with transaction.atomic():
        counts = _record(delivery, answer, now)
        webhook = Webhook.objects.select_for_update(no_key=True).filter(pk=delivery.webhook_id).first()
        if webhook is not None:
            _note(webhook, answer, now)
    add(counts)
    return int(answer.is_taken and bool(counts.total()))


def _record(delivery: WebhookDelivery, answer: Answer, now: datetime) -> Counts:
    if answer.is_taken:
        return POSTS.record_sent(delivery, now)
    sent_at = now if answer.is_in_doubt else delivery.sent_at
    if answer.is_final or delivery.is_test:
        return POSTS.give_up(delivery, answer.said)
    return POSTS.put_off(delivery, answer.said, now, timedelta(seconds=answer.retry_after_s), sent_at=sent_at)


def _note(webhook: Webhook, answer: Answer, now: datetime) -> None:
    """What is known of the receiver now; one that fails for days is switched off."""
    webhook.last_at, webhook.last_outcome = now, answer.said
    if answer.is_taken:
        webhook.failures, webhook.failing_since, webhook.paused_until = 0, None, None
    else:
        webhook.failures += not answer.is_busy
        if not answer.is_busy:
            webhook.failing_since = webhook.failing_since or now
        wait = max(pause(webhook.failures), timedelta(seconds=answer.retry_after_s))
        # A test is posted in a pause, and does not shorten it.
        webhook.paused_until = max(webhook.paused_until or now, now + wait) if wait else None
        if webhook.failing_since and is_over(webhook.failures, webhook.failing_since, now):
            _switch_off(webhook, now)
    webhook.save(update_fields=["last_at", "last_outcome", "failures", "failing_since", "paused_until", "off_at"])


def _switch_off(webhook: Webhook, now: datetime) -> None:
    webhook.off_at = now
    waiting = WebhookDelivery.objects.filter(webhook=webhook, state=WebhookDelivery.State.PENDING)
    waiting.update(state=WebhookDelivery.State.SUPPRESSED, reason=SWITCHED_OFF)
