"""The forms of a person's settings beside mail."""

from collections.abc import Iterable
from typing import Any

from django import forms
from django.conf import settings
from django.utils import timezone

from analysis.efficiency import EfficiencyClass
from analysis.thresholds import LIMITS
from jobs.models import Project, Token, User
from jobs.tokens.models import PERSONAL
from jobs.tokens.selectors import own_tokens
from portal.ingest.senders import OWN_RUNS_OFF
from portal.middleware.reader_preferences import zone_names
from portal.sign_in.personal_tokens import TOKENS_MAX
from reports.mail.digest import Choices, Frequency

TOKEN_DAYS = (30, 90, 365)
TOKEN_DAYS_DEFAULT = 90
PERMISSIONS = [(kind.value, kind.label) for kind in PERSONAL]

THEMES = [("", "Same as this device"), *User.Theme.choices]
AREAS = "Africa America Antarctica Arctic Asia Atlantic Australia Europe Indian Pacific".split()
"""The regions in the database of time zones; all other names are aliases of names in these regions."""


def zone_choices() -> list[Any]:
    """Every zone by its region, and the option to leave it to the browser."""
    zones = sorted(zone_names())
    areas = [(area, [(name, _place(name)) for name in zones if name.startswith(f"{area}/")]) for area in AREAS]
    return [("", "My browser's time zone"), ("UTC", "UTC"), *areas]


def _place(name: str) -> str:
    return name.partition("/")[2].replace("_", " ")


class AppearanceForm(forms.Form):
    """Light or dark, which time zone, and whether hints are shown at the command line."""

    theme = forms.ChoiceField(choices=THEMES, required=False, widget=forms.RadioSelect)
    time_zone = forms.ChoiceField(choices=zone_choices, required=False)
    shows_hints = forms.BooleanField(required=False)

    def __init__(self, data: Any, initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial)
        if not settings.SBATCH_HINTS:
            # The choice stays as it is for the day on which the site switches hints on.
            del self.fields["shows_hints"]


class SlurmCommentsForm(forms.Form):
    """Whether class and use of one's jobs are written into Slurm."""

    is_on = forms.BooleanField(required=False, label="Write class and GPU use of my jobs into Slurm")


class TokenForm(forms.Form):
    """What a new token is for, what it may do, and how long it is valid."""

    name = forms.CharField(max_length=64, label="Purpose", widget=forms.TextInput(attrs={"autocomplete": "off"}))
    kind = forms.ChoiceField(label="Permission", choices=PERMISSIONS, initial=Token.Kind.READ)
    days = forms.TypedChoiceField(
        coerce=int,
        label="Valid for",
        choices=[(days, f"{days} days") for days in TOKEN_DAYS],
        initial=TOKEN_DAYS_DEFAULT,
    )

    def __init__(self, user: User, data: Any = None) -> None:
        # A page that had no choice yet sends none.
        sent = None if data is None else {"kind": Token.Kind.READ.value, **dict(data.items())}
        super().__init__(sent)
        self.held = own_tokens(user)
        if not settings.OWN_RUNS:
            kind: Any = self.fields["kind"]
            kind.choices = [choice for choice in PERMISSIONS if choice[0] != Token.Kind.SEND]
            if sent and sent["kind"] == Token.Kind.SEND:
                kind.error_messages["invalid_choice"] = OWN_RUNS_OFF

    def clean_name(self) -> str:
        name: str = self.cleaned_data["name"]
        if self.held.filter(name=name, expires_at__gt=timezone.now()).exists():
            raise forms.ValidationError(
                "You already have a token with this name; revoke it first, or choose another name."
            )
        return name

    def clean(self) -> None:
        replaced = self.held.filter(name=self.cleaned_data.get("name", ""))
        if self.held.count() - replaced.count() >= TOKENS_MAX:
            raise forms.ValidationError(
                f"You have {TOKENS_MAX} tokens, which is the limit; revoke one that you no longer need."
            )


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
    """Which mail one person wants; a project has "as above" or has its own frequency."""

    frequency = forms.ChoiceField(choices=FREQUENCY_LABELS, widget=forms.RadioSelect)
    minimum_class = forms.ChoiceField(choices=CLASS_LABELS)
    with_pdf = forms.BooleanField(required=False)

    def __init__(self, projects: Iterable[Project], chosen: Choices, data: Any = None) -> None:
        self.names = {f"project_{project.pk}": project for project in projects}
        given: dict[str, object] = {"frequency": chosen.frequency.value, "minimum_class": chosen.minimum_class.value}
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
