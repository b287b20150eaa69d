"""Recording what came of a delivery, with the delivery and with its webhook."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import QuerySet

from jobs.tallies.kinds import WEBHOOK_POSTS
from jobs.tallies.services import add
from reports.models import Webhook, WebhookDelivery, WebhookWord
from reports.retries import next_attempt_at
from reports.webhooks.rules import Answer, is_over, pause

SWITCHED_OFF = "webhook_switched_off"


def held(delivery: WebhookDelivery) -> QuerySet[WebhookDelivery]:
    """The row while it belongs to this worker: empty once the lease ran out and another has it, or it was removed."""
    return WebhookDelivery.objects.filter(
        pk=delivery.pk,
        state=WebhookDelivery.State.SENDING,
        claimed_at=delivery.claimed_at,
        attempts=delivery.attempts,
    )


def suppress(delivery: WebhookDelivery, reason: str) -> None:
    """This delivery is not to be sent."""
    recorded = held(delivery).update(state=WebhookDelivery.State.SUPPRESSED, reason=reason)
    add(WEBHOOK_POSTS.of("not wanted", times=recorded))


def release_untold(delivery: WebhookDelivery, told: Collection[int]) -> None:
    """The words of this worker's delivery but these (`told`, their keys) are posted later, if they hold again then.

    Not where the receiver may have taken them already.
    """
    untold = held(delivery).filter(sent_at=None, interruptions=0)
    WebhookWord.objects.filter(delivery__in=untold).exclude(word__in=told).delete()


def give_up(delivery: WebhookDelivery, reason: str) -> None:
    """This delivery is not tried again."""
    delivery.state, delivery.reason = WebhookDelivery.State.FAILED, reason
    delivery.save(update_fields=["state", "reason", "interruptions"])
    add(WEBHOOK_POSTS.of("failed"))


def put_off(delivery: WebhookDelivery, reason: str, now: datetime) -> None:
    """This delivery could not be made; its webhook is not to blame."""
    again_at = next_attempt_at(delivery.attempts, now)
    if again_at is None:
        give_up(delivery, reason)
        return
    recorded = held(delivery).update(state=WebhookDelivery.State.PENDING, due_at=again_at, reason=reason)
    add(WEBHOOK_POSTS.of("tried again", times=recorded))


def record_answer(delivery: WebhookDelivery, answer: Answer, now: datetime) -> int:
    """Store what came of one try; 1 where the receiver took it."""
    with transaction.atomic():
        recorded, outcome = _record(delivery, answer, now)
        webhook = Webhook.objects.select_for_update(no_key=True).filter(pk=delivery.webhook_id).first()
        if webhook is not None:
            _note(webhook, answer, now)
    add(WEBHOOK_POSTS.of(outcome, times=recorded))
    return int(answer.is_taken and bool(recorded))


def _record(delivery: WebhookDelivery, answer: Answer, now: datetime) -> tuple[int, str]:
    """How many rows changed, 0 or 1, and what is counted."""
    if answer.is_taken:
        return held(delivery).update(state=WebhookDelivery.State.SENT, reason="", sent_at=now), "sent"
    again_at = None if answer.is_final or delivery.is_test else next_attempt_at(delivery.attempts, now)
    if again_at is None:
        return held(delivery).update(state=WebhookDelivery.State.FAILED, reason=answer.said), "failed"
    due_at = max(again_at, now + timedelta(seconds=answer.retry_after_s))
    sent_at = now if answer.is_in_doubt else delivery.sent_at
    waits = {"state": WebhookDelivery.State.PENDING, "due_at": due_at, "handed_at": None, "sent_at": sent_at}
    return held(delivery).update(**waits, reason=answer.said), "tried again"


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
