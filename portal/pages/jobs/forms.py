"""The filters of the Jobs page as a form: it reads an address and yields `Choices`; what to look up is the query's."""

from collections.abc import Iterable
from datetime import date
from typing import Any, cast

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator, RegexValidator

from jobs.models import SavedFilter
from jobs.records import ENDED_STATES
from jobs.saved_filters.models import FILTER_ADDRESS_LENGTH_MAX
from portal.charts.finding_list import FLAGS, SITE
from portal.charts.run_classes import SHOWN_NAMES
from portal.pages.jobs.choices import Choices, Offered
from portal.pages.jobs.orders import FIRST_SORT, SORTS, WORK_SORTS
from reports.wording import TITLES
from wire.safe_text import printable

# A day before or after these has no midnight in some zone.
SENSIBLE = [MinValueValidator(date(1970, 1, 2)), MaxValueValidator(date(9999, 12, 29))]
ARRAY = RegexValidator(r"^[^/]{1,64}/[0-9]{1,16}$")
HIDDEN_LABELS = {"array": "Array", "work": "Work", "q": "Search", "counted": "Counted"}
"""The names of fields whose own label is hidden, or is more than a name."""
BY_WORK = "work"
DAYS = (1, 7, 30, 90, 365)
STATES = [(name, name.replace("_", " ").capitalize()) for name in sorted(ENDED_STATES)]


def choice(label: str, *choices: tuple[str, str]) -> forms.ChoiceField:
    """One of some values, or any."""
    return forms.ChoiceField(required=False, label=label, choices=[("", f"Any {label.lower()}"), *choices])


def day(label: str) -> forms.DateField:
    """A day of the calendar."""
    return forms.DateField(
        required=False, label=label, validators=SENSIBLE, widget=forms.DateInput(attrs={"type": "date"})
    )


class JobFilterForm(forms.Form):
    """Every field may be empty; what makes no sense counts as empty, so that an address can always be opened."""

    q = forms.CharField(
        required=False,
        max_length=256,
        label="Search by job id, name, or your own tags and notes",
        widget=forms.TextInput(attrs={"type": "search", "placeholder": "Job id, name, tag or note"}),
    )
    efficiency_class = choice("Class", *SHOWN_NAMES.items())
    finding = choice("Finding", *((code.value, title) for code, title in TITLES.items()))
    project = choice("Project")
    owner = choice("Owner")
    state = choice("State", *STATES)
    partition = choice("Partition")
    days = forms.TypedChoiceField(
        required=False,
        coerce=int,
        empty_value=None,
        label="Time",
        choices=[("", "Any time"), *((days, f"Last {days} days" if days > 1 else "Today") for days in DAYS)],
    )
    since, until = day("Ended from"), day("until")
    group = forms.ChoiceField(
        required=False, label="Rows", choices=[("", "A row per job"), (BY_WORK, "A row per work")]
    )
    sort = forms.ChoiceField(
        required=False, label="Order", choices=[(name, sort.label) for name, sort in SORTS.items()]
    )
    zone = forms.ChoiceField(required=False, label="Calendar", choices=[(SITE, SITE)], widget=forms.HiddenInput)
    array = forms.CharField(required=False, validators=[ARRAY], widget=forms.HiddenInput)
    work = forms.ChoiceField(required=False, widget=forms.HiddenInput)
    counted = forms.ChoiceField(required=False, choices=[(FLAGS, "by flags")], widget=forms.HiddenInput)

    def __init__(self, data: Any, offered: Offered) -> None:
        super().__init__(data)
        for name, values in (
            ("project", offered.projects),
            ("owner", offered.owners),
            ("partition", offered.partitions),
        ):
            field = cast("forms.ChoiceField", self.fields[name])
            field.choices = [
                *list(cast("Iterable[tuple[str, str]]", field.choices)),
                *((value, value) for value in values),
            ]
        cast("forms.ChoiceField", self.fields["work"]).choices = offered.works
        if self.data.get("group") == BY_WORK:
            cast("forms.ChoiceField", self.fields["sort"]).choices = list(WORK_SORTS.items())
        self.data = _with_an_order_of_these_rows(self.data)
        if not offered.owners:
            del self.fields["owner"]

    def choices(self) -> Choices:
        """What was chosen, without what makes no sense and without the order that holds by itself."""
        self.is_valid()
        chosen = {name: value for name, value in self.cleaned_data.items() if value}
        if chosen.get("sort") == FIRST_SORT:
            del chosen["sort"]
        return Choices(**chosen)

    @property
    def pills(self) -> list[forms.BoundField]:
        """What stands in two rows below the search: what the jobs are like; from `days` on, when and in what order."""
        return [field for field in self.visible_fields() if field.name != "q"]


def _with_an_order_of_these_rows(address: Any) -> Any:
    """The address without an order that only the other kind of rows has: whoever changes the rows gets the first."""
    orders, others = (WORK_SORTS, SORTS) if address.get("group") == BY_WORK else (SORTS, WORK_SORTS)
    sort = address.get("sort", "")
    if sort in orders or sort not in others:
        return address
    address = address.copy()
    address.pop("sort")
    return address


class SavedFilterForm(forms.ModelForm):
    """The name for a filter, the filter as the page's own address holds it, and whether it replaces one so called."""

    replaces = forms.BooleanField(required=False)
    address = forms.CharField(required=False, max_length=FILTER_ADDRESS_LENGTH_MAX, widget=forms.HiddenInput)

    class Meta:
        model = SavedFilter
        fields = ("name",)

    def clean_name(self) -> str:
        """The name as it is stored: marks that hide or turn text do not come back in a message either."""
        return printable(self.cleaned_data["name"])
