"""Offers of help: the text that staff edit, and the messages made from it."""

from datetime import datetime

from django.db import IntegrityError, transaction
from django.db.models import QuerySet

from analysis.cases.models import SupportCase
from analysis.cases.services import NotPossible, record_offer
from analysis.escalation.models import Flag
from jobs.audit.services import Action, Kind, by_person, record_change
from jobs.models import Membership, User
from reports.mail.digest import Frequency
from reports.mail.offer import SHIPPED, OfferText, filled, subject_line
from reports.models import Delivery, HelpLetter, Notice
from reports.numbers import part_of
from reports.selectors import delivery_choices, offer_text
from reports.services.links import address


class OfferConflict(Exception):
    """Somebody saved the offer since it was opened; nothing was stored. `newest` is what they saved."""

    def __init__(self, newest: HelpLetter) -> None:
        super().__init__(f"version {newest.number} was saved in the meantime")
        self.newest = newest


def save_offer(based_on: int, offer: OfferText, editor: User, now: datetime) -> bool:
    """Store a new version over version `based_on`; False when nothing changed. Raises OfferConflict."""
    offer = offer.as_shown()
    number, present = offer_text()
    newest = HelpLetter.objects.select_related("editor").order_by("-number").first()
    if newest is not None and newest.number != based_on:
        raise OfferConflict(newest)
    if present == offer:
        return False
    try:
        with transaction.atomic():
            row = HelpLetter.objects.create(
                number=number + 1, subject=offer.subject, text=offer.text, editor=editor, saved_at=now
            )
            record_change(by_person(editor), Action.LETTER_CHANGED, Kind.LETTER, row)
    except IntegrityError as error:
        newest = HelpLetter.objects.select_related("editor").latest("number")
        raise OfferConflict(newest) from error
    return True


def restore_offer(based_on: int, number: int, editor: User, now: datetime) -> bool:
    """Store version `number`, 0 for the shipped text, as a new version; False when it is the present text already.

    Raises OfferConflict, and HelpLetter.DoesNotExist.
    """
    if number == 0:
        return save_offer(based_on, SHIPPED, editor, now)
    row = HelpLetter.objects.get(number=number)
    return save_offer(based_on, OfferText(row.subject, row.text), editor, now)


def recipients(flag: Flag) -> list[User]:
    """Who gets an offer about a flag: its owner, or the PIs of the project; not those without address or mail.

    Whoever turned off mail, or mail about this project, gets none.
    """
    found = [user for user in _concerned(flag) if user.is_active and user.email]
    choices = delivery_choices(user.pk for user in found)
    return [user for user in found if choices[user.pk].frequency_of(flag.project_id or 0) is not Frequency.OFF]


def why_nobody(flag: Flag) -> str:
    """Why nobody gets an offer about a flag without recipients, as a part of a sentence."""
    people = list(_concerned(flag))
    if people and not any(user.is_active for user in people):
        return "the account is closed" if len(people) == 1 else "the accounts are closed"
    return "no mail address is known, or mail was turned off"


def _concerned(flag: Flag) -> QuerySet[User]:
    if flag.user_id is not None:
        return User.objects.filter(pk=flag.user_id)
    leads = Membership.objects.filter(project=flag.project_id, role=Membership.Role.PI)
    return User.objects.filter(pk__in=leads.values("user")).order_by("username")


def subject_of(flag: Flag) -> str:
    """What a flag is about, to its owner or PI; never the name of a job."""
    if flag.kind == Flag.Kind.USER:
        return "your GPU jobs"
    project = flag.project.name if flag.project else ""
    return f"project {project}" if flag.kind == Flag.Kind.PROJECT else f"one of your works in {project}"


def offer_to(case: SupportCase, user: User, sender: User) -> OfferText:
    """The offer as this person gets it, with the rough sums of the last check: staff read it before.

    Where too few jobs are left for these, with those of when the flag was raised.
    """
    last = case.flag.at_last
    evidence = last if last.has_enough_jobs else case.flag.at_raising
    unused, hours = part_of(evidence.counted.unused_gpu_hours, evidence.counted.gpu_hours)
    values = {
        "name": user.username,
        "what": subject_of(case.flag),
        "unused": unused,
        "hours": hours,
        "days": str(evidence.window_days),
        "first_day": f"{evidence.first_day:%Y-%m-%d}",
        "last_day": f"{evidence.last_day:%Y-%m-%d}",
        "sender": sender.username,
        "link": address("flags"),
    }
    return filled(offer_text()[1], values)


def offer_help(case: SupportCase, based_on: int, sender: User, now: datetime) -> list[User]:
    """Put an offer to everybody concerned into the outbox, and to whom. Raises CaseConflict and NotPossible."""
    people = recipients(case.flag)
    if not people:
        raise NotPossible(f"Nobody can be written to: {why_nobody(case.flag)}.")
    with transaction.atomic():
        record_offer(case, based_on, sender, now, ", ".join(user.username for user in people))
        for user in people:
            offer = offer_to(case, user, sender)
            delivery = Delivery.objects.create(user=user, created_at=now, due_at=now)
            Notice.objects.create(
                delivery=delivery, kind=Notice.Kind.OFFER, subject=subject_line(offer.subject)[:200], text=offer.text
            )
    return people
