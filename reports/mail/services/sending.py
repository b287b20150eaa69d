"""Sending the outbox of mail (`jobs.work_queue.outbox`): one letter after the other.

The one that may repeat has the same Message-ID. A server that took all of it and never answered counts as a worker that
ended then.
"""

import logging
import time
from datetime import datetime

from django.core.exceptions import ValidationError
from django.core.mail.backends.base import BaseEmailBackend
from django.core.validators import validate_email
from django.db import transaction
from django.utils import timezone

from jobs.tallies.kinds import END_TO_MAIL, MESSAGES
from jobs.tallies.services import add, since_end
from jobs.work_queue.outbox.rules import BACK_OFF, INTERRUPTIONS_MAX
from jobs.work_queue.outbox.selectors import held
from jobs.work_queue.outbox.services import Outbox
from jobs.work_queue.services import is_of_the_database
from reports.early.services.letters import early_letter
from reports.mail.digest import Choices, Frequency, Silence
from reports.mail.emails import LetGo, Letter, MailError, NotNow, NotWanted, post, post_office
from reports.mail.services.letters import is_telling, letter, notice_letter
from reports.mail.services.planning import NO_ADDRESS, PEOPLE_MAX, plan_due
from reports.mail.services.summaries import plan_summaries
from reports.models import Delivery, Notice
from reports.selectors import delivery_choices, due_deliveries, told_reports

CLAIM_SCAN = 20
ROUND_S = 240

OUTBOX = Outbox(Delivery, MESSAGES)

log = logging.getLogger(__name__)


def deliver_due(limit: int, now: datetime | None = None) -> int:
    """Fill the outbox and send what is due of it; how many messages were sent."""
    plan_due(PEOPLE_MAX, now)
    plan_summaries(now or timezone.now())
    return send_due(limit, now)


def send_due(limit: int, now: datetime | None = None) -> int:
    """Send up to `limit` messages; how many were sent.

    A failing mail server ends the round, so that it gets no more requests, and so does a round that takes too long.
    """
    sent, began_s = 0, time.monotonic()
    with post_office() as connection:
        while sent < limit and time.monotonic() - began_s < ROUND_S:
            delivery = claim(now or timezone.now())
            if delivery is None:
                break
            try:
                _send(delivery, connection, now or timezone.now())
            except LetGo:
                continue
            except NotNow as later:
                waits = {"state": Delivery.State.PENDING, "due_at": later.until}
                held(delivery).update(**waits, attempts=delivery.attempts - 1)
            except NotWanted as reason:
                add(OUTBOX.suppress(delivery, str(reason)))
            except MailError as error:
                _record_failure(delivery, error, now or timezone.now())
                if error.is_connection:
                    break
            else:
                sent += _record_sent(delivery, now or timezone.now())
    return sent


def claim(now: datetime) -> Delivery | None:
    """The next due message, claimed by this worker; None when there is none that is free."""
    with transaction.atomic():
        due = due_deliveries(now).select_for_update(skip_locked=True, of=("self",)).select_related("user")
        for delivery in due[:CLAIM_SCAN]:
            if OUTBOX.claim(delivery, now, address=delivery.user.email[:254]):
                return delivery
    return None


def _send(delivery: Delivery, connection: BaseEmailBackend, now: datetime) -> None:
    """Raises LetGo, NotNow, NotWanted and MailError."""
    written = _letter(delivery, now)
    # The last check before the mail server gets it: somebody may have opted out while the letter was written.
    if not OUTBOX.hand_over(delivery, now):
        raise LetGo
    post(written, connection)


def _letter(delivery: Delivery, now: datetime) -> Letter:
    """The letter under the choices of this very moment. Raises NotNow, NotWanted and MailError."""
    try:
        choices = delivery_choices([delivery.user_id])[delivery.user_id]
        _check_recipient(delivery, choices)
        notice = Notice.objects.filter(delivery=delivery).first()
        if notice is not None and notice.kind == Notice.Kind.EARLY:
            return early_letter(delivery, choices, now)
        if notice is not None:
            if choices.frequency is Frequency.OFF:
                raise NotWanted(Silence.OFF.value)
            return notice_letter(delivery.user, str(delivery.key), notice)
        rows = [
            row
            for row in told_reports(delivery.reports.all())
            if choices.frequency_of(row.job.project_id) is not Frequency.OFF
        ]
        if not is_telling(rows):
            raise NotWanted(Silence.OFF.value if not rows else Silence.NOTHING_TO_TELL.value)
        return letter(delivery.user, str(delivery.key), rows, with_pdf=choices.with_pdf)
    except (NotNow, NotWanted):
        raise
    except Exception as error:
        if is_of_the_database(error):
            raise
        # An error of ours in one letter: it is tried again later, and the others are sent.
        log.exception("delivery %s could not be written", delivery.pk)
        raise MailError(f"could not be written: {type(error).__name__}") from error


def _check_recipient(delivery: Delivery, choices: Choices) -> None:
    if not delivery.user.is_active:
        raise NotWanted("account_closed")
    if not delivery.user.email:
        raise NotWanted(NO_ADDRESS)
    try:
        validate_email(delivery.user.email)
    except ValidationError as error:
        raise NotWanted("bad_address") from error


def _record_sent(delivery: Delivery, now: datetime) -> int:
    counts = OUTBOX.record_sent(delivery, now)
    if not counts.total():
        return 0
    add(counts, since_end(END_TO_MAIL, *delivery.reports.values_list("job__ended_at", flat=True)))
    return 1


def _record_failure(delivery: Delivery, error: MailError, now: datetime) -> None:
    interruptions = delivery.interruptions + error.is_in_doubt
    if error.is_permanent or interruptions > INTERRUPTIONS_MAX or delivery.attempts > len(BACK_OFF):
        # The mail server's answer may hold the address, so it is in the outbox only.
        log.warning("delivery %s failed permanently", delivery.pk)
        add(OUTBOX.give_up(delivery, str(error), interruptions=interruptions))
    else:
        add(OUTBOX.put_off(delivery, str(error), now, interruptions=interruptions))
