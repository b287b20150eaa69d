"""Writing the letter about jobs that still run, from the words that hold at this moment."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from django.conf import settings
from django.template.loader import render_to_string

from jobs.models import User
from reports.early.nights import morning_after
from reports.early.planning import EarlySilence
from reports.early.selectors import early_choice, words_in, zone_of
from reports.early.services.releasing import release_untold
from reports.early.services.telling import told_words
from reports.early.told import ToldWord, dearest_first, early_subject, first_jobs
from reports.mail.digest import Choices, Frequency, Silence
from reports.mail.emails import Letter, headers
from reports.mail.services.refusals import NotNow, NotWanted
from reports.mail.view import calm
from reports.models import Delivery
from reports.numbers import counted, unbroken
from reports.services.links import address, opt_out_address

JOBS_IN_FULL_MAX = 10
"""So many jobs a letter states in full, those that will still cost most; of the others it states how many."""

WHY = "You receive this message because you want to hear of your GPU jobs while they run."


def early_letter(delivery: Delivery, choices: Choices, now: datetime) -> Letter:
    """The letter of this message. Raises NotWanted where nothing of it is to be sent, and NotNow at night."""
    user, choice = delivery.user, early_choice(delivery.user)
    if choices.frequency is Frequency.OFF:
        raise NotWanted(Silence.OFF.value)
    if not choice.by_mail:
        raise NotWanted(EarlySilence.OFF.value)
    words = [word for word in words_in(delivery, now) if choices.frequency_of(word.project_id) is not Frequency.OFF]
    release_untold(delivery, [word.pk for word in words])
    if not words:
        raise NotWanted(EarlySilence.OVER.value)
    morning = None if choice.at_night else morning_after(now, zone_of(user))
    if morning is not None:
        raise NotNow(morning)
    return written(user, str(delivery.key), dearest_first(told_words(words, now)))


def written(user: User, key: str, words: Sequence[ToldWord]) -> Letter:
    """The letter that states these words."""
    subject = calm(f"Kaiku: {early_subject(words)}", 200)
    in_full, more = first_jobs(words, JOBS_IN_FULL_MAX)
    context = {
        "subject": subject,
        "title": early_subject(words),
        "words": in_full,
        "more": f"And {counted(more, 'more job')}" if more else "",
        "running_url": address("running"),
        "why": WHY,
        "user": user,
        "settings_url": address("early-settings"),
        "opt_out_url": opt_out_address(user),
    }
    return Letter(
        subject=subject,
        body=render_to_string("emails/early_word/body.txt", context),
        html=unbroken(render_to_string("emails/early_word/body.html", context)),
        pictures={},
        to=[user.email],
        reply_to=[settings.MAIL_REPLY_TO] if settings.MAIL_REPLY_TO else None,
        headers=headers(key, opt_out_address(user)),
    )
