"""The filters that are on, each with the address that leaves it out; and the filters kept under a name."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from jobs.models import SavedFilter
from portal.charts.finding_list import SITE
from portal.pages.jobs.choices import Choices
from portal.pages.jobs.forms import HIDDEN_LABELS, JobFilterForm

DAY_NAMES = frozenset({"days", "since", "until"})
SITE_TIME = ", site time"


@dataclass(frozen=True)
class Chip:
    """One filter that is on; `address` is the list without it."""

    label: str
    value: str
    address: str


@dataclass(frozen=True)
class SavedChip:
    """One saved filter; `is_shown` where the list is as it was saved."""

    pk: int
    name: str
    address: str
    is_shown: bool


def chips(form: JobFilterForm, choices: Choices) -> list[Chip]:
    """Every filter that is on, in the order of the form; days of a calendar that is not the reader's name it."""
    is_other = choices.zone == SITE and timezone.get_current_timezone_name() != settings.TIME_ZONE
    return [
        Chip(
            HIDDEN_LABELS.get(name) or str(form.fields[name].label),
            _shown(form, name, value) + (SITE_TIME if is_other and name in DAY_NAMES else ""),
            choices.without(name),
        )
        for name, value in choices.narrowing.items()
    ]


def _shown(form: JobFilterForm, name: str, value: object) -> str:
    """A value as the form shows it."""
    labels = {str(key): label for key, label in getattr(form.fields[name], "choices", ())}
    return str(labels.get(str(value), value))


def saved_chips(kept: Iterable[SavedFilter], choices: Choices) -> list[SavedChip]:
    """The filters that a person keeps; the order of the jobs is saved with each."""
    return [SavedChip(one.pk, one.name, one.address, one.address == choices.address) for one in kept]
