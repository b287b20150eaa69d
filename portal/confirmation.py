"""The form that confirms a deletion: a second look before something is gone."""

from __future__ import annotations

from django import forms


class DeleteForm(forms.Form):
    """Whether somebody is sure."""

    is_sure = forms.BooleanField()
