"""The choices of the Jobs page as they stand in its address, and the runs that they leave."""

from __future__ import annotations

from datetime import date, datetime, time, timedelta
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from analysis.efficiency import EfficiencyClass
from jobs.models import Job
from jobs.records import ENDED_STATES
from reports.layout import CLASS_NAMES
from reports.wording import TITLES

ANY = ("", "Any")
SORTS = {
    "ended": ("Latest first", F("ended_at").desc(nulls_last=True)),
    "use": ("Lowest GPU use first", F("efficiency__avg_gpu_util").asc(nulls_last=True)),
    "wasted": ("Most wasted GPU-hours first", F("efficiency__wasted_gpu_hours").desc(nulls_last=True)),
    "hours": ("Most GPU-hours first", F("efficiency__gpu_hours").desc(nulls_last=True)),
    "runtime": ("Longest first", F("walltime_used_s").desc(nulls_last=True)),
}
DATE = {"type": "date"}
# A day before or after these has no midnight in some zone.
SENSIBLE = [MinValueValidator(date(1970, 1, 2)), MaxValueValidator(date(9999, 12, 29))]


class JobFilter(forms.Form):
    """Every field may be empty; what makes no sense counts as empty, so that an address can always be opened."""

    q = forms.CharField(required=False, max_length=256, label="Name or job id")
    project = forms.ChoiceField(required=False)
    partition = forms.ChoiceField(required=False)
    state = forms.ChoiceField(
        required=False, choices=[ANY, *((name, name.replace("_", " ").lower()) for name in sorted(ENDED_STATES))]
    )
    efficiency_class = forms.ChoiceField(
        required=False,
        label="Class",
        choices=[ANY, *((name.value, CLASS_NAMES[name.value]) for name in EfficiencyClass)],
    )
    finding = forms.ChoiceField(required=False, choices=[ANY, *((code.value, title) for code, title in TITLES.items())])
    since = forms.DateField(required=False, label="Ended from", validators=SENSIBLE, widget=forms.DateInput(attrs=DATE))
    until = forms.DateField(
        required=False, label="Ended until", validators=SENSIBLE, widget=forms.DateInput(attrs=DATE)
    )
    sort = forms.ChoiceField(required=False, choices=[(name, label) for name, (label, _) in SORTS.items()])

    def __init__(self, runs: QuerySet[Job], data: Any) -> None:
        super().__init__(data)
        self.runs = runs
        for name, column in (("project", "project__name"), ("partition", "partition")):
            seen = runs.order_by(column).values_list(column, flat=True).distinct()
            self.fields[name].choices = [ANY, *((value, value) for value in seen if value)]
        self.is_valid()

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but the order was chosen."""
        return any(value for name, value in self.cleaned_data.items() if name != "sort")

    def chosen(self) -> QuerySet[Job]:
        """The runs that are left, in the order asked for."""
        wanted = {name: value for name, value in self.cleaned_data.items() if value}
        exact = {
            "project": "project__name",
            "partition": "partition",
            "state": "state",
            "efficiency_class": "efficiency__efficiency_class",
            "finding": "efficiency__findings__code",
            "since": "ended_at__gte",
            "until": "ended_at__lt",
        }
        if "since" in wanted:
            wanted["since"] = _midnight(wanted["since"])
        if "until" in wanted:
            wanted["until"] = _midnight(wanted["until"] + timedelta(days=1))
        runs = self.runs.filter(**{column: wanted[name] for name, column in exact.items() if name in wanted})
        if "q" in wanted:
            runs = runs.filter(_named(wanted["q"]))
        return runs.order_by(SORTS[wanted.get("sort") or "ended"][1], "-pk")


def _midnight(day: date) -> datetime:
    """When a day begins for the reader: as an instant, for a table is written after the reader's zone is left."""
    return timezone.make_aware(datetime.combine(day, time.min))


def _named(text: str) -> Q:
    """A part of the job's name, or its id, or that of its array."""
    found = Q(job_name__icontains=text)
    if text.isdecimal() and len(text) < 17:
        found |= Q(job_id=int(text)) | Q(array_job_id=int(text))
    return found
