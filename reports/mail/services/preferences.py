"""Writing people's mail choices; they apply to every message that the mail server does not have yet."""

from collections.abc import Mapping
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from jobs.models import Project, User
from reports.early.planning import EarlySilence
from reports.mail.digest import Choices, Frequency, Silence
from reports.models import Delivery, DeliveryPreference, EarlyChoice, MailedWord, Notice, ProjectPreference


def save_choices(user: User, choices: Choices, now: datetime | None = None) -> None:
    """Replace all choices of one person; messages not tried yet are planned again under the new ones."""
    with transaction.atomic():
        DeliveryPreference.objects.update_or_create(
            user=user,
            defaults={
                "frequency": choices.frequency.value,
                "minimum_class": choices.minimum_class.value,
                "with_pdf": choices.with_pdf,
                "changed_at": now or timezone.now(),
            },
        )
        _replace_projects(user, choices.projects)
        _held_back(user).update(state=Delivery.State.PENDING, claimed_at=None)
        planned_again = Delivery.objects.filter(user=user, state=Delivery.State.PENDING, attempts=0)
        planned_again.filter(notice__isnull=True).delete()


def opt_out(user: User, now: datetime | None = None) -> None:
    """End all mail to this person, of every project."""
    with transaction.atomic():
        DeliveryPreference.objects.update_or_create(
            user=user, defaults={"frequency": Frequency.OFF.value, "changed_at": now or timezone.now()}
        )
        _replace_projects(user, {})
        waiting = Delivery.objects.filter(user=user, state=Delivery.State.PENDING) | _held_back(user)
        waiting.update(state=Delivery.State.SUPPRESSED, reason=Silence.OFF.value)


def _held_back(user: User) -> QuerySet[Delivery]:
    """Messages that a worker is writing and has not handed over: it sees that the row changed and does not send."""
    return Delivery.objects.filter(user=user, state=Delivery.State.SENDING, handed_at__isnull=True)


def _replace_projects(user: User, wanted: Mapping[int, Frequency]) -> None:
    ProjectPreference.objects.filter(user=user).delete()
    projects = Project.objects.in_bulk(wanted)
    ProjectPreference.objects.bulk_create(
        ProjectPreference(user=user, project=projects[pk], frequency=frequency.value)
        for pk, frequency in wanted.items()
    )


def save_early_choice(user: User, now: datetime, **chosen: bool) -> None:
    """Store what one person wants to hear of running jobs; who ends the mail gets none that still waits."""
    with transaction.atomic():
        EarlyChoice.objects.update_or_create(user=user, defaults=chosen | {"changed_at": now})
        if not chosen.get("by_mail"):
            waiting = Delivery.objects.filter(user=user, state=Delivery.State.PENDING, notice__kind=Notice.Kind.EARLY)
            written = _held_back(user).filter(notice__kind=Notice.Kind.EARLY)
            pks = [*waiting.values_list("pk", flat=True), *written.values_list("pk", flat=True)]
            # Who wants mail again hears of what holds then.
            MailedWord.objects.filter(delivery__in=pks, delivery__interruptions=0).delete()
            Delivery.objects.filter(pk__in=pks).update(
                state=Delivery.State.SUPPRESSED, reason=EarlySilence.OFF.value, claimed_at=None
            )
