"""The forms of a job's page: what its readers say of it, and letting support look at it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

RIGHT, WRONG, WITHDRAW = "right", "wrong", "withdraw"
SHARE_DAYS = (7, 14, 30)
SHARE_DAYS_DEFAULT = 14


class FeedbackForm(forms.Form):
    """One answer to "was this right?" about one of the codes that the report holds."""

    code = forms.ChoiceField()
    answer = forms.ChoiceField(choices=[(name, name) for name in (RIGHT, WRONG, WITHDRAW)])
    comment = forms.CharField(required=False, max_length=1000)

    def __init__(self, codes: Iterable[str], data: Any) -> None:
        super().__init__(data)
        self.fields["code"].choices = [(code, code) for code in codes]


class ShareForm(forms.Form):
    """For how long support may look, and what the owner would like to know."""

    days = forms.TypedChoiceField(
        coerce=int, label="For", choices=[(days, f"{days} days") for days in SHARE_DAYS], initial=SHARE_DAYS_DEFAULT
    )
    note = forms.CharField(
        required=False,
        max_length=500,
        label="What would you like help with?",
        widget=forms.Textarea(attrs={"rows": 2, "maxlength": 500}),
    )
