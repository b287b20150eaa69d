"""The forms by which the owner of an experiment renames it and lets a project see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django import forms

from jobs.experiments.limits import NAME_LENGTH_MAX

ONLY_ME, PI, MEMBERS = "", "pi", "members"
AUDIENCES = ((PI, "its PI"), (MEMBERS, "its PI and all members"))


class RenameForm(forms.Form):
    """The name of an experiment."""

    name = forms.CharField(max_length=NAME_LENGTH_MAX, label="Name")


class SharingForm(forms.Form):
    """Which project of the owner sees an experiment, and who of it."""

    project = forms.ChoiceField(required=False, label="Project")
    audience = forms.ChoiceField(choices=AUDIENCES, label="Who of it sees the runs", widget=forms.RadioSelect)

    def __init__(self, projects: Sequence[str], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        names = [(ONLY_ME, "none: only you see it"), *((name, name) for name in projects)]
        cast("forms.ChoiceField", self.fields["project"]).choices = names
