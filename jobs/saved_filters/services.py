"""Keeping and removing filters of the Jobs page."""

from datetime import datetime

from django.db import transaction

from jobs.models import SavedFilter, User

SAVED_FILTERS_MAX = 20


class TooManyFilters(Exception):
    """This person keeps as many filters as anyone may."""


class NameTaken(Exception):
    """This person keeps another filter under this name."""


def save_filter(user: User, *, name: str, address: str, now: datetime, replaces: bool = False) -> None:
    """Keep a filter; `TooManyFilters` where it would be one too many.

    `NameTaken` where another one has this name, unless it `replaces` that one.
    """
    with transaction.atomic():
        # Two forms sent at once are counted one after the other.
        User.objects.select_for_update(no_key=True).get(pk=user.pk)
        kept = SavedFilter.objects.filter(user=user)
        same = kept.filter(name=name).first()
        if same and same.address != address and not replaces:
            raise NameTaken
        if same:
            kept.filter(pk=same.pk).update(address=address, saved_at=now)
            return
        if kept.count() >= SAVED_FILTERS_MAX:
            raise TooManyFilters
        SavedFilter.objects.create(user=user, name=name, address=address, saved_at=now)


def remove_filter(kept: SavedFilter) -> None:
    """Forget it; the jobs it showed stay as they are."""
    kept.delete()
