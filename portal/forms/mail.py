"""What people choose about mail."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from analysis.efficiency import EfficiencyClass
from analysis.thresholds import LIMITS
from jobs.models import Project
from reports.digest import Choices, Frequency

AS_ABOVE = ""
FREQUENCY_LABELS = [
    (Frequency.DAILY.value, "At most once a day"),
    (Frequency.IMMEDIATE.value, "A message for every job"),
    (Frequency.WEEKLY.value, "At most once a week"),
    (Frequency.OFF.value, "Never"),
]
CLASS_LABELS = [
    (EfficiencyClass.EFFICIENT.value, "All jobs, efficient ones too"),
    (EfficiencyClass.ACCEPTABLE.value, f"Acceptable and below (under {LIMITS.efficient_percent:g} %)"),
    (EfficiencyClass.INEFFICIENT.value, f"Inefficient and below (under {LIMITS.acceptable_percent:g} %)"),
    (EfficiencyClass.WASTED.value, f"Wasted only (under {LIMITS.inefficient_percent:g} %)"),
]


class MailForm(forms.Form):
    """What one person wishes to be told; a project says "as above" or has a frequency of its own."""

    frequency = forms.ChoiceField(choices=FREQUENCY_LABELS, widget=forms.RadioSelect)
    minimum_class = forms.ChoiceField(choices=CLASS_LABELS)
    with_pdf = forms.BooleanField(required=False)

    def __init__(self, projects: Iterable[Project], chosen: Choices, data: Any = None) -> None:
        self.names = {f"project_{project.pk}": project for project in projects}
        given = {"frequency": chosen.frequency.value, "minimum_class": chosen.minimum_class.value}
        given |= {"with_pdf": chosen.with_pdf}
        given |= {f"project_{pk}": frequency.value for pk, frequency in chosen.projects.items()}
        super().__init__(data, initial=given)
        for name, project in self.names.items():
            self.fields[name] = forms.ChoiceField(
                choices=[(AS_ABOVE, "As above"), *FREQUENCY_LABELS], required=False, label=project.name
            )

    @property
    def project_fields(self) -> list[forms.BoundField]:
        """The projects, one choice each."""
        return [self[name] for name in self.names]

    def chosen(self) -> Choices:
        """The choices of a valid form."""
        said = self.cleaned_data
        return Choices(
            frequency=Frequency(said["frequency"]),
            minimum_class=EfficiencyClass(said["minimum_class"]),
            with_pdf=said["with_pdf"],
            projects={project.pk: Frequency(said[name]) for name, project in self.names.items() if said[name]},
        )
