"""What an address asks of the Jobs page that cannot be followed: an old link must not look like an answer."""

from __future__ import annotations

from dataclasses import dataclass

from portal.pages.jobs.forms import HIDDEN_LABELS, JobFilterForm

VALUE_CHARACTERS_MAX = 60
NOT_PRINTABLE = "\N{REPLACEMENT CHARACTER}"


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
    return [Ignored(_label(form, name), _shown(form.data.get(name, ""))) for name in names]


def _label(form: JobFilterForm, name: str) -> str:
    field = form.fields.get(name)
    return (HIDDEN_LABELS.get(name) or str(field.label if field else name)).lower()


def _shown(text: str) -> str:
    """A value of at most 60 characters, without those that a page cannot show."""
    printable = "".join(character if character.isprintable() else NOT_PRINTABLE for character in text)
    return printable if len(printable) <= VALUE_CHARACTERS_MAX else printable[: VALUE_CHARACTERS_MAX - 1] + "…"
