"""Letting words go from a message that does not state them, so that they are told if they hold again later."""

from __future__ import annotations

from collections.abc import Collection

from reports.early.models import MailedWord
from reports.models import Delivery


def release_untold(delivery: Delivery, told: Collection[int]) -> None:
    """The words of this worker's message but these (`told`, their keys) are in no message any more.

    Not where a mail server may have taken the message before: what it stated then is not to be repeated.
    """
    held = Delivery.objects.filter(
        pk=delivery.pk,
        state=Delivery.State.SENDING,
        claimed_at=delivery.claimed_at,
        attempts=delivery.attempts,
        interruptions=0,
    )
    MailedWord.objects.filter(delivery__in=held).exclude(word__in=told).delete()
