"""The choices of the Jobs page as they stand in its address, and the runs that they leave."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, time, timedelta
from functools import reduce
from operator import or_
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator
from django.db.models import Q, QuerySet
from django.utils import timezone

from analysis.efficiency import EfficiencyClass
from analysis.findings import code_list
from jobs.hardware import clusters
from jobs.models import Job
from jobs.records import ENDED_STATES
from jobs.selectors import Reach, jobs_within, latest_partitions, reached_projects
from portal.pages.jobs.sorts import JUDGED, LATEST, LATEST_JUDGED, SORTS, Sort
from reports.layout import CLASS_NAMES
from reports.wording import TITLES

ANY = ("", "Any")
DATE = {"type": "date"}
# A day before or after these has no midnight in some zone.
SENSIBLE = [MinValueValidator(date(1970, 1, 2)), MaxValueValidator(date(9999, 12, 29))]
ARRAY = RegexValidator(r"^[^/]{1,64}/[0-9]{1,16}$")


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
    sort = forms.ChoiceField(required=False, choices=[(name, sort.label) for name, sort in SORTS.items()])
    array = forms.CharField(required=False, validators=[ARRAY], widget=forms.HiddenInput)

    def __init__(self, reach: Reach, data: Any) -> None:
        super().__init__(data)
        self.reach = reach
        self.projects = dict(reached_projects(reach).values_list("name", "pk"))
        self.fields["project"].choices = [ANY, *((name, name) for name in self.projects)]
        self.fields["partition"].choices = [ANY, *((name, name) for name in self._partitions(data))]
        self.is_valid()
        self.wanted = {name: value for name, value in self.cleaned_data.items() if value}

    def _partitions(self, data: Any) -> list[str]:
        """Those of the latest runs and of their clusters; another one that stands in the address, if it has runs."""
        latest = latest_partitions(self.reach)
        described = clusters()
        known = {name for cluster, _ in latest if cluster in described for name in described[cluster].partitions}
        names = known | {name for _, name in latest if name}
        asked = data.get("partition")
        if asked and asked not in names and jobs_within(self.reach).filter(partition=asked).exists():
            names.add(asked)
        return sorted(names)

    @property
    def is_narrowed(self) -> bool:
        """Whether anything but the order was chosen."""
        return bool(self.wanted.keys() - {"sort"})

    @property
    def is_judged(self) -> bool:
        """Whether only judged runs can be left."""
        return bool(self.wanted.keys() & {"efficiency_class", "finding"})

    @property
    def chosen_sort(self) -> Sort:
        """The order asked for, on the table whose index also holds what is narrowed."""
        sort = SORTS[self.wanted.get("sort") or "ended"]
        return LATEST_JUDGED if sort is LATEST and self.is_judged else sort

    def parts(self, table: str) -> Sequence[Q]:
        """Whose runs are looked through, in parts that do not overlap, by the columns of `table`."""
        return (self.reach.of_project(self._project, table),) if self._project else self.reach.parts(table)

    def sorted_parts(self, table: str) -> Sequence[Q]:
        """The same in parts that an index of `table` has in their order; they may overlap."""
        return (self.reach.of_project(self._project, table),) if self._project else self.reach.sorted_parts(table)

    @property
    def _project(self) -> int | None:
        return self.projects.get(self.wanted.get("project", ""))

    def conditions(self, table: str = "") -> Q:
        """What else is asked for; times are looked up in `table`."""
        wanted, found = self.wanted, Q()
        for name in wanted.keys() & {"partition", "state"}:
            found &= Q(**{name: wanted[name]})
        if "efficiency_class" in wanted:
            found &= Q(**{f"{JUDGED}efficiency_class": wanted["efficiency_class"]})
        if "finding" in wanted:
            found &= Q(**{f"{JUDGED}finding_codes__contains": code_list([wanted["finding"]])})
        if "since" in wanted:
            found &= Q(**{f"{table}ended_at__gte": _midnight(wanted["since"])})
        if "until" in wanted:
            found &= Q(**{f"{table}ended_at__lt": _midnight(wanted["until"] + timedelta(days=1))})
        if "array" in wanted:
            cluster, _, array = wanted["array"].rpartition("/")
            found &= Q(cluster=cluster, array_job_id=int(array))
        return found & _named(wanted["q"]) if "q" in wanted else found

    def runs(self) -> QuerySet[Job]:
        """Every run that is left, in the order asked for: for whoever reads all of them."""
        left = Job.objects.filter(reduce(or_, self.parts("")), self.conditions())
        return left.order_by(*self.chosen_sort.full_order())


def _midnight(day: date) -> datetime:
    """The beginning of that local day."""
    return timezone.make_aware(datetime.combine(day, time.min))


def _named(text: str) -> Q:
    """A part of the job's name, or its id, or that of its array."""
    found = Q(job_name__icontains=text)
    if text.isdecimal() and len(text) < 17:
        found |= Q(job_id=int(text)) | Q(array_job_id=int(text))
    return found
