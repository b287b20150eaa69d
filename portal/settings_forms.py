"""The forms of a person's settings beside mail."""

from __future__ import annotations

from typing import Any

from django import forms

from jobs.models import User
from jobs.selectors import own_api_tokens
from portal.api_tokens import TOKENS_MAX

TOKEN_DAYS = (30, 90, 365)
TOKEN_DAYS_DEFAULT = 90


class TokenForm(forms.Form):
    """What a new token is for, and how long it holds."""

    name = forms.CharField(max_length=64, label="What it is for", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    days = forms.TypedChoiceField(
        coerce=int,
        label="Holds for",
        choices=[(days, f"{days} days") for days in TOKEN_DAYS],
        initial=TOKEN_DAYS_DEFAULT,
    )

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data)
        self.held = own_api_tokens(user)

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if self.held.filter(name=name).exists():
            raise forms.ValidationError("You have a token of this name; revoke it first, or choose another name.")
        return name

    def clean(self) -> None:
        if self.held.count() >= TOKENS_MAX:
            raise forms.ValidationError(f"You have {TOKENS_MAX} tokens; revoke one that you no longer need.")
