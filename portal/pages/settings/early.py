"""Settings: what a person wants to hear while a job still runs, with a preview of the mail."""

from __future__ import annotations

import uuid
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods

from portal.access import person
from portal.pages.settings.sections import sections, sent_fields
from portal.unsaved import keeps_unsaved
from reports.early.models import EarlyChoice
from reports.early.planning import MAILS_A_DAY_MAX
from reports.early.selectors import early_choice
from reports.early.services.choices import save_early_choice
from reports.early.services.letters import written
from reports.early.services.telling import sample_word
from reports.mail.digest import Frequency
from reports.selectors import delivery_choices


class EarlyForm(forms.Form):
    """Which channels are on; all are off until somebody switches them on."""

    by_mail = forms.BooleanField(required=False, label="Send mail")
    at_night = forms.BooleanField(required=False, label="Also at night, between 22:00 and 07:00")
    in_feed = forms.BooleanField(required=False, label="Show them in my feed")
    to_project = forms.BooleanField(required=False, label="Post them to the webhooks of the job’s project")

    def __init__(self, choice: EarlyChoice, data: Any = None) -> None:
        super().__init__(data, initial={name: getattr(choice, name) for name in self.base_fields})


@keeps_unsaved
@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def early_settings(request: HttpRequest) -> HttpResponse:
    """The choices of the signed-in person; they apply as soon as they are saved."""
    user = person(request)
    form = EarlyForm(early_choice(user), sent_fields(request))
    if request.method == "POST" and form.is_valid():
        save_early_choice(user, timezone.now(), **form.cleaned_data)
        messages.success(request, "Saved. Your choices apply from now on.")
        return redirect("early-settings")
    letter = written(user, str(uuid.uuid4()), [sample_word(user, timezone.now())])
    context = {
        "form": form,
        "is_mail_off": delivery_choices([user.pk])[user.pk].frequency is Frequency.OFF,
        "mails_a_day": MAILS_A_DAY_MAX,
        "sample": {"subject": letter.subject, "text": letter.body},
        **sections(),
    }
    return render(request, "portal/settings/early.html", context)
