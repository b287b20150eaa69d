"""Settings: the webhooks of a person and of the projects that they lead."""

import json
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import IntegrityError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from jobs.models import User
from jobs.selectors import led_projects
from portal.access import person, signed_in_form
from portal.form_addresses import form_of_page
from portal.pages.settings.sections import sections, sent_fields
from portal.rate_limits import CHANGES, limited, seconds_to_wait, too_often
from portal.unsaved import OF_A_WEBHOOK, keeps_unsaved
from reports.early.services.telling import sample_word
from reports.models import Webhook
from reports.webhooks.models import SHAPE_CHOICES
from reports.webhooks.rules import OF_PERSON_MAX, OF_PROJECT_MAX
from reports.webhooks.selectors import visible_webhooks
from reports.webhooks.services.keeping import (
    TooMany,
    create_webhook,
    remove_webhook,
    renew_secret,
    request_test,
    switch_on,
)
from reports.webhooks.services.posting import checked_target
from reports.webhooks.services.secrets import DELIVERY_HEADER, SIGNATURE_HEADER, signing_secret
from reports.webhooks.shape import LABELS, Shape
from reports.webhooks.shapes import SHAPES, Post

SAMPLE_KEY = "00000000-0000-0000-0000-000000000000"
NOTHING_CHANGED = "Nothing was changed."


class WebhookForm(forms.Form):
    """Where words are posted, about whose jobs, and in which shape."""

    name = forms.CharField(max_length=64, widget=forms.TextInput(attrs={"autocomplete": "off"}))
    project: forms.Field = forms.ModelChoiceField(None, required=False, empty_label="My own jobs", label="About")
    shape = forms.ChoiceField(choices=SHAPE_CHOICES, initial=Shape.GENERIC.value, label="Receiver")
    webhook_address = forms.CharField(
        max_length=1000,
        label="Address",
        help_text="It begins with https://. Only its host and last characters are shown later.",
        widget=forms.URLInput(attrs={"autocomplete": "off", "spellcheck": "false"}),
    )

    def __init__(self, user: User, data: Any = None) -> None:
        super().__init__(data)
        chosen: Any = self.fields["project"]
        chosen.queryset = led_projects(user).order_by("name")
        if not chosen.queryset.exists():
            del self.fields["project"]

    def clean_webhook_address(self) -> str:
        address: str = self.cleaned_data[OF_A_WEBHOOK]
        try:
            checked_target(address)
        except ValueError as error:
            raise forms.ValidationError(str(error)) from error
        return address


@never_cache
@keeps_unsaved
@signed_in_form
def webhooks(request: HttpRequest) -> HttpResponse:
    """The list and a form; a new secret is shown only in the answer that created it."""
    _check_offered()
    if request.method == "POST" and (wait_s := seconds_to_wait(CHANGES, request)):
        return too_often(request, wait_s)
    form = WebhookForm(person(request), sent_fields(request))
    if request.method == "POST" and form.is_valid() and (webhook := _created(request, form)):
        return _page(request, WebhookForm(person(request)), webhook)
    return _page(request, form)


@form_of_page("webhooks", NOTHING_CHANGED)
@limited(CHANGES)
def test(request: HttpRequest, pk: int) -> HttpResponse:
    """Have a worker post a sample."""
    webhook = _own(request, pk)
    if request_test(webhook, timezone.now()):
        messages.success(request, f"A test to “{webhook.name}” is sent within a minute. Its result is shown here then.")
    else:
        messages.info(request, f"A test to “{webhook.name}” waits already.")
    return redirect("webhooks")


@never_cache
@form_of_page("webhooks", NOTHING_CHANGED)
@limited(CHANGES)
def renew(request: HttpRequest, pk: int) -> HttpResponse:
    """A new secret for signatures, shown once."""
    webhook = _own(request, pk)
    renew_secret(webhook, person(request))
    return _page(request, WebhookForm(person(request)), webhook)


@form_of_page("webhooks", NOTHING_CHANGED)
@limited(CHANGES)
def on(request: HttpRequest, pk: int) -> HttpResponse:
    """Switch it on again after failures."""
    webhook = _own(request, pk)
    switch_on(webhook, person(request), timezone.now())
    messages.success(request, f"“{webhook.name}” is switched on.")
    return redirect("webhooks")


@form_of_page("webhooks", NOTHING_CHANGED)
@limited(CHANGES)
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete it with its address; PIs may remove all webhooks of their project."""
    _check_offered()
    webhook = get_object_or_404(visible_webhooks(person(request)), pk=pk)
    remove_webhook(webhook, person(request))
    messages.success(request, f"Removed. Nothing is posted to “{webhook.name}” any more.")
    return redirect("webhooks")


def _check_offered() -> None:
    if not settings.WEBHOOKS:
        raise Http404("This portal has no webhooks.")


def _own(request: HttpRequest, pk: int) -> Webhook:
    _check_offered()
    return get_object_or_404(visible_webhooks(person(request)), pk=pk, owner=person(request))


def _created(request: HttpRequest, form: WebhookForm) -> Webhook | None:
    """The new webhook; None with an error in the form where there can be none."""
    said = form.cleaned_data
    try:
        return create_webhook(
            person(request),
            name=said["name"],
            shape=said["shape"],
            address=said[OF_A_WEBHOOK],
            project=said.get("project"),
            now=timezone.now(),
        )
    except TooMany:
        most = f"{OF_PROJECT_MAX} webhooks for one project" if said.get("project") else f"{OF_PERSON_MAX} webhooks"
        form.add_error(None, f"There are {most}, which is the limit; remove one that is no longer needed.")
    except IntegrityError:
        form.add_error("name", "You have a webhook with this name; choose another one.")
    return None


def _page(request: HttpRequest, form: WebhookForm, new: Webhook | None = None) -> HttpResponse:
    is_signed = new is not None and new.shape == Shape.GENERIC
    context = {
        "form": form,
        "webhooks": visible_webhooks(person(request)),
        "new": new,
        "secret": signing_secret(new) if new and is_signed else "",
        "signature_header": SIGNATURE_HEADER,
        "delivery_header": DELIVERY_HEADER,
        "samples": _samples(person(request)),
        **sections(),
    }
    return render(request, "portal/settings/webhooks.html", context)


def _samples(user: User) -> list[tuple[str, str]]:
    """The bodies of a test in each shape."""
    now = timezone.now()
    post = Post(SAMPLE_KEY, [sample_word(user, now)], now, is_test=True)
    return [(LABELS[shape], json.dumps(body(post), indent=2, ensure_ascii=False)) for shape, body in SHAPES.items()]
