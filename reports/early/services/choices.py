"""Writing what people want to hear of jobs that still run; it applies to every message that was not handed over yet."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from jobs.models import User
from reports.early.models import EarlyChoice, MailedWord
from reports.early.planning import EarlySilence
from reports.models import Delivery, Notice


def save_early_choice(user: User, now: datetime, **chosen: bool) -> None:
    """Store the choices of one person; who ends the mail gets none of the messages that still wait."""
    with transaction.atomic():
        EarlyChoice.objects.update_or_create(user=user, defaults=chosen | {"changed_at": now})
        if not chosen.get("by_mail"):
            mine = Delivery.objects.filter(user=user, notice__kind=Notice.Kind.EARLY)
            waiting = mine.filter(state=Delivery.State.PENDING)
            # A worker that writes one sees that the row changed, and does not send it.
            written = mine.filter(state=Delivery.State.SENDING, handed_at__isnull=True)
            pks = [*waiting.values_list("pk", flat=True), *written.values_list("pk", flat=True)]
            # Who wants mail again hears of what holds then.
            MailedWord.objects.filter(delivery__in=pks, delivery__interruptions=0).delete()
            Delivery.objects.filter(pk__in=pks).update(
                state=Delivery.State.SUPPRESSED, reason=EarlySilence.OFF.value, claimed_at=None
            )
