"""The forms of the support queue: a note, and the offer of help that staff edit."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from analysis.cases.models import NOTE_LENGTH_MAX
from reports.mail.offer import (
    PLACEHOLDERS,
    SUBJECT_LENGTH_MAX,
    TEXT_LENGTH_MAX,
    OfferText,
    subject_line,
    unknown_placeholders,
)
from wire.safe_text import printable


class Lines(forms.CharField):
    """Text of several lines without invisible characters, counted as the browser counts it."""

    def to_python(self, value: Any) -> str:
        whole = (super().to_python(value) or "").replace("\r\n", "\n").replace("\r", "\n").strip()
        return "\n".join(printable(line) for line in whole.split("\n"))


class SubjectLine(forms.CharField):
    """One line without tabs and invisible characters, as it is stored."""

    def to_python(self, value: Any) -> str:
        return subject_line(super().to_python(value) or "")


class NoteForm(forms.Form):
    """A note of staff."""

    text = Lines(label="Note", max_length=NOTE_LENGTH_MAX, widget=forms.Textarea(attrs={"rows": 3}))


class OfferForm(forms.Form):
    """The offer of help; `version` is the one that the editor opened, 0 the shipped text."""

    version = forms.IntegerField(widget=forms.HiddenInput, min_value=0, max_value=2**31 - 2)
    subject = SubjectLine(max_length=SUBJECT_LENGTH_MAX)
    text = Lines(max_length=TEXT_LENGTH_MAX, widget=forms.Textarea(attrs={"rows": 16}))

    def clean(self) -> dict[str, Any]:
        values = super().clean() or self.cleaned_data
        for name in ("subject", "text"):
            if unknown := unknown_placeholders(values.get(name, "")):
                known = ", ".join(f"{{{word}}}" for word in PLACEHOLDERS)
                said = f"{{{unknown[0]}}} stands for nothing. Use {known}."
                self.add_error(name, ValidationError(said))
        return values

    def offer(self) -> OfferText:
        """What was written, as far as it is valid."""
        return OfferText(self.cleaned_data.get("subject", ""), self.cleaned_data.get("text", ""))
