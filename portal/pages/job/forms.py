"""The forms of a job's page: what its readers say of it, letting support look at it, and the owner's own notes."""

from collections.abc import Iterable
from typing import Any, cast

from django import forms

from jobs.notes.tags import NOTE_LENGTH_MAX, TAG_LENGTH_MAX, TAGS_MAX, tags_in
from jobs.shown_text.joiners import can_be_seen, without_stray_marks

RIGHT, WRONG, WITHDRAW = "right", "wrong", "withdraw"
SHARE_DAYS = (7, 14, 30)
SHARE_DAYS_DEFAULT = 14
COMMENT_LENGTH_MAX = 1000


class Lines(forms.CharField):
    """Text of several lines, as long as its writer saw it: browsers send two characters for the end of a line."""

    def to_python(self, value: Any) -> Any:
        return super().to_python(value.replace("\r\n", "\n") if isinstance(value, str) else value)


class FeedbackForm(forms.Form):
    """One answer to "was this right?" about one of the codes that the report holds."""

    code = forms.ChoiceField()
    answer = forms.ChoiceField(choices=[(name, name) for name in (RIGHT, WRONG, WITHDRAW)])
    comment = Lines(required=False, max_length=COMMENT_LENGTH_MAX)

    def __init__(self, codes: Iterable[str], data: Any) -> None:
        super().__init__(data)
        cast("forms.ChoiceField", self.fields["code"]).choices = [(code, code) for code in codes]


class ShareForm(forms.Form):
    """For how long support may look, and what the owner would like to know."""

    days = forms.TypedChoiceField(
        coerce=int, label="For", choices=[(days, f"{days} days") for days in SHARE_DAYS], initial=SHARE_DAYS_DEFAULT
    )
    note = Lines(
        required=False,
        max_length=500,
        label="What would you like help with?",
        widget=forms.Textarea(attrs={"rows": 2, "maxlength": 500}),
    )


class NoteForm(forms.Form):
    """What an owner writes beside a run for themselves."""

    text = Lines(
        required=False,
        max_length=NOTE_LENGTH_MAX,
        label="Note",
        widget=forms.Textarea(attrs={"rows": 4, "maxlength": NOTE_LENGTH_MAX}),
    )
    tags = forms.CharField(
        required=False,
        max_length=2 * TAGS_MAX * TAG_LENGTH_MAX,
        label="Tags",
        help_text=f"Up to {TAGS_MAX}, with commas between them.",
    )
    version = forms.CharField(required=False, max_length=40, widget=forms.HiddenInput)

    def clean_text(self) -> str:
        return without_stray_marks(self.cleaned_data["text"], "").strip()

    def clean_tags(self) -> tuple[str, ...]:
        written = tags_in(self.cleaned_data["tags"])
        names = tags_in(without_stray_marks(self.cleaned_data["tags"], ""))
        if not all(can_be_seen(without_stray_marks(name, "")) for name in written):
            raise forms.ValidationError("A tag needs at least one character that can be seen.")
        if len(names) > TAGS_MAX:
            raise forms.ValidationError(f"These are {len(names)} tags; a run can have {TAGS_MAX}.")
        if any(len(name) > TAG_LENGTH_MAX for name in names):
            raise forms.ValidationError(f"A tag can have {TAG_LENGTH_MAX} characters.")
        return names
