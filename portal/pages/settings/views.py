"""Settings: which mail a person gets and how often, appearance, tokens, comments in Slurm, words about running jobs.

The last with a preview of their mail.
"""

import uuid

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db import IntegrityError, transaction
from django.forms.models import model_to_dict
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache

from analysis.comments.services import forget_comments
from jobs.accounts.services import save_appearance, save_slurm_comments
from jobs.audit.services import by_person
from jobs.models import Token
from jobs.selectors import own_projects
from jobs.tokens.models import PREFIXES
from jobs.tokens.selectors import own_tokens
from jobs.tokens.services import issue_token, revoke_token
from portal.access import person, signed_in_form
from portal.form_addresses import form_of_page
from portal.pages.settings.forms import AppearanceForm, MailForm, SlurmCommentsForm, TokenForm
from portal.pages.settings.sections import sections, sent_fields
from portal.rate_limits import CHANGES, seconds_to_wait, too_often
from portal.unsaved import keeps_unsaved
from reports.early.planning import MAILS_A_DAY_MAX
from reports.early.selectors import early_choice
from reports.early.services.letters import written
from reports.early.services.telling import sample_word
from reports.mail.digest import Frequency
from reports.mail.services.preferences import save_choices, save_early_choice
from reports.selectors import delivery_choices

USES = {
    Token.Kind.READ: "read",
    Token.Kind.SEND: "send",
    Token.Kind.RUNS: "log runs",
    Token.Kind.FEED: "read your feed",
}
"""What a token of each kind is used to do."""


@keeps_unsaved
@signed_in_form
def mail_settings(request: HttpRequest) -> HttpResponse:
    """The choices of the signed-in person; they apply as soon as they are saved."""
    user = person(request)
    chosen = delivery_choices([user.pk])[user.pk]
    form = MailForm(own_projects(user), chosen, sent_fields(request))
    if request.method == "POST" and form.is_valid():
        save_choices(user, form.chosen())
        messages.success(request, "Saved. Your choices apply from now on.")
        return redirect("settings")
    context = {"form": form, "early": early_choice(user), **sections()}
    return render(request, "portal/settings/settings.html", context)


@never_cache
@keeps_unsaved
@signed_in_form
def api_tokens(request: HttpRequest) -> HttpResponse:
    """The valid tokens; a new one is shown only in the answer that created it, and is not stored."""
    if request.method == "POST" and (wait_s := seconds_to_wait(CHANGES, request)):
        return too_often(request, wait_s)
    form, now, secret = TokenForm(person(request), sent_fields(request)), timezone.now(), ""
    if request.method == "POST" and form.is_valid():
        try:
            secret = issue_token(person(request), now=now, **form.cleaned_data)
            form = TokenForm(person(request))
        except IntegrityError:  # the same form was sent twice at once
            form.add_error("name", "You have a token with this name now.")
    context = {
        **{"form": form, "tokens": own_tokens(person(request)), "now": now, "secret": secret},
        "is_sending": secret.startswith(PREFIXES[Token.Kind.SEND]),
        "is_logging": secret.startswith(PREFIXES[Token.Kind.RUNS]),
        "is_feed": secret.startswith(PREFIXES[Token.Kind.FEED]),
        "portal": f"{request.scheme}://{request.get_host()}",
        "may_send": settings.OWN_RUNS,
        **sections(),
        "kinds": Token.Kind,
    }
    return render(request, "portal/settings/api_tokens.html", context)


@form_of_page("api-tokens", "Nothing was revoked.")
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    """It gives no access from now on."""
    token = get_object_or_404(own_tokens(person(request)), pk=pk)
    revoke_token(token, timezone.now(), by_person(person(request)))
    messages.success(request, f"Revoked. “{token.name}” can no longer be used to {USES[Token.Kind(token.kind)]}.")
    return redirect("api-tokens")


@keeps_unsaved
@signed_in_form
def appearance(request: HttpRequest) -> HttpResponse:
    """The choices of the signed-in person, on every device; without any, each device decides for itself."""
    chosen = {name: getattr(person(request), name) for name in ("theme", "time_zone", "shows_hints")}
    form = AppearanceForm(sent_fields(request), chosen)
    if request.method == "POST" and form.is_valid():
        save_appearance(person(request), **chosen | form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("appearance")
    return render(request, "portal/settings/appearance.html", {"form": form, **sections()})


@keeps_unsaved
@signed_in_form
def slurm_comments(request: HttpRequest) -> HttpResponse:
    """Whether others may read class and use of the person's later jobs in Slurm; 404 where the site does not write."""
    if not settings.SLURM_COMMENTS:
        raise Http404("This portal writes no comments.")
    user = person(request)
    form = SlurmCommentsForm(sent_fields(request), initial={"is_on": user.slurm_comments_since is not None})
    if request.method == "POST" and form.is_valid():
        is_on = form.cleaned_data["is_on"]
        with transaction.atomic():
            save_slurm_comments(user, is_on=is_on, now=timezone.now())
            if not is_on:
                forget_comments(user)
        done = "Saved. Jobs that end from now on get a comment." if is_on else "Saved. No more comments are written."
        messages.success(request, done)
        return redirect("slurm-comments")
    context = {"form": form, "since": user.slurm_comments_since, **sections()}
    return render(request, "portal/settings/slurm_comments.html", context)


class EarlyForm(forms.Form):
    """Which channels are on; all are off until somebody switches them on."""

    by_mail = forms.BooleanField(required=False, label="Send mail")
    at_night = forms.BooleanField(required=False, label="Also at night, between 22:00 and 07:00")
    in_feed = forms.BooleanField(required=False, label="Show findings in my feed")
    to_project = forms.BooleanField(required=False, label="Post findings to the webhooks of the job’s project")


@keeps_unsaved
@signed_in_form
def early_settings(request: HttpRequest) -> HttpResponse:
    """The choices of the signed-in person; they apply as soon as they are saved."""
    user = person(request)
    form = EarlyForm(sent_fields(request), initial=model_to_dict(early_choice(user)))
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
