"""The filters that are on, each with the address that leaves it out; those that cannot be followed; and those kept.

An old link must not look like an answer.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.utils import timezone

from jobs.models import SavedFilter
from jobs.shown_text.joiners import shortened
from portal.charts.finding_list import SITE
from portal.pages.jobs.choices import Choices
from portal.pages.jobs.forms import HIDDEN_LABELS, JobFilterForm

DAY_NAMES = frozenset({"days", "since", "until"})
SITE_TIME = ", site time"

VALUE_CHARACTERS_MAX = 60
NOT_PRINTABLE = "\N{REPLACEMENT CHARACTER}"


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


@dataclass(frozen=True)
class Ignored:
    """One filter that has no effect, and the value that was not understood or is not within reach."""

    label: str
    value: str


def ignored(form: JobFilterForm) -> list[Ignored]:
    """Every filter that was left out, in the order of the form; the same whether a value exists elsewhere or not."""
    names = [name for name in form.fields if name in form.errors]
    # Only those who lead a project can filter by owner: for anybody else the form has no such field.
    names += [name for name in ("owner",) if name not in form.fields and form.data.get(name)]
    return [Ignored(_label_of(form, name), _shown_text(form.data.get(name, ""))) for name in names]


def _label_of(form: JobFilterForm, name: str) -> str:
    field = form.fields.get(name)
    return (HIDDEN_LABELS.get(name) or str(field.label if field else name)).lower()


def _shown_text(text: str) -> str:
    """A value of at most 60 characters, without those that a page cannot show."""
    printable = "".join(character if character.isprintable() else NOT_PRINTABLE for character in text)
    return shortened(printable, VALUE_CHARACTERS_MAX)
