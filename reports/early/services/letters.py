"""Writing the letter about jobs that still run, from the words that hold at this moment."""

from collections.abc import Collection, Sequence
from datetime import datetime

from jobs.models import User
from jobs.work_queue.outbox.selectors import held
from reports.early.models import MailedWord
from reports.early.planning import EarlySilence, morning_after
from reports.early.selectors import early_choice, words_in, zone_of
from reports.early.services.telling import told_words
from reports.early.told import ToldWord, dearest_first, early_subject, first_jobs
from reports.mail.digest import Choices, Frequency, Silence
from reports.mail.emails import Letter, NotNow, NotWanted
from reports.mail.services.addressed import addressed
from reports.models import Delivery
from reports.services.links import address
from wire.numbers import counted

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
    in_full, more = first_jobs(words, JOBS_IN_FULL_MAX)
    context = {
        "title": early_subject(words),
        "words": in_full,
        "more": f"And {counted(more, 'more job')}" if more else "",
        "running_url": address("running"),
        "why": WHY,
    }
    subject = f"Kaiku: {early_subject(words)}"
    return addressed(user, key, "early_word", subject, context, settings_page="early-settings")


def release_untold(delivery: Delivery, told: Collection[int]) -> None:
    """The words of this worker's message but these (`told`, their keys) are in no message any more.

    Not where a mail server may have taken the message before: what it stated then is not to be repeated.
    """
    MailedWord.objects.filter(delivery__in=held(delivery).filter(interruptions=0)).exclude(word__in=told).delete()
