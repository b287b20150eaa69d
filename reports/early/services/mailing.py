"""Putting early words into the outbox of mail, one person at a time; `reports.mail.services.sending` empties it."""

from datetime import datetime
from functools import partial

from django.db import transaction

from jobs.models import User
from jobs.work_queue.services import Work, attempt_each
from reports.early.models import EarlyChoice, MailedWord
from reports.early.planning import EarlyMessage, plan_messages
from reports.early.selectors import (
    early_choice,
    open_words,
    past_mail,
    people_to_mail,
    still_to_mail,
    words_to_mail,
    zone_of,
)
from reports.mail.digest import Choices, Frequency
from reports.mail.services.planning import account_name
from reports.models import Delivery, Notice
from reports.selectors import delivery_choices

EARLY_MAIL = "early mail to a person"
"""The kind of work of a failure to plan a person's early mail; its key is the account."""


def plan_early_mail(limit: int, now: datetime) -> int:
    """Fill the outbox for up to `limit` people; how many messages were added. One person's failure affects no other."""
    work = Work(
        EARLY_MAIL,
        partial(plan_person, now=now),
        still_due=partial(still_to_mail, now=now),
        is_recurring=True,
        name=account_name,
    )
    return attempt_each(work, [people_to_mail(now)[:limit]], now).done


def plan_person(user_pk: int, now: datetime) -> int:
    """The messages that are due for one person, at night for the next morning; none while another worker plans them."""
    with transaction.atomic():
        # no_key: a job of this person may arrive meanwhile; only another planner must wait.
        user = User.objects.select_for_update(skip_locked=True, no_key=True).filter(pk=user_pk).first()
        choice = early_choice(user) if user else EarlyChoice()
        if user is None or not choice.by_mail:
            return 0
        refused = _refused_projects(delivery_choices([user.pk])[user.pk])
        words = open_words(words_to_mail(now).filter(user=user).exclude(project__in=refused))
        planned = plan_messages(words, past_mail(user, now), now, zone_of(user), at_night=choice.at_night)
        return sum(_store(user, message, now) for message in planned)


def _refused_projects(choices: Choices) -> list[int]:
    """The projects about which a person wants no mail; who wants none at all has no words to mail."""
    return [project for project, frequency in choices.projects.items() if frequency is Frequency.OFF]


def _store(user: User, message: EarlyMessage, now: datetime) -> int:
    """One message with its words; 1 for a new one that is to be sent."""
    pk = message.delivery_pk
    if pk is None:
        pk = _new(user, message, now).pk
    elif not _still_waits(pk):
        return 0
    MailedWord.objects.bulk_create(
        MailedWord(word_id=word.pk, delivery_id=pk, work=word.work[1]) for word in message.words
    )
    return int(message.delivery_pk is None and message.reason is None)


def _new(user: User, message: EarlyMessage, now: datetime) -> Delivery:
    state = Delivery.State.PENDING if message.reason is None else Delivery.State.SUPPRESSED
    delivery = Delivery.objects.create(
        user=user, state=state, reason=message.reason or "", created_at=now, due_at=message.due_at or now
    )
    Notice.objects.create(delivery=delivery, kind=Notice.Kind.EARLY, subject=Notice.Kind.EARLY.label, text="")
    return delivery


def _still_waits(delivery_pk: int) -> bool:
    """Whether no worker has claimed the message, and none will before this transaction ends."""
    waiting = Delivery.objects.select_for_update(skip_locked=True).filter(state=Delivery.State.PENDING)
    return waiting.filter(pk=delivery_pk).exists()
