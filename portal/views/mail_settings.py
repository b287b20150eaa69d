"""Settings: what a person hears about by mail, and how often."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jobs.selectors import own_projects
from portal.forms.mail import MailForm
from reports.selectors import delivery_choices
from reports.services.preferences import save_choices


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def mail_settings(request: HttpRequest) -> HttpResponse:
    """The choices of the signed-in person; they hold from the moment they are saved."""
    chosen = delivery_choices([request.user.pk])[request.user.pk]
    form = MailForm(own_projects(request.user), chosen, request.POST if request.method == "POST" else None)
    if form.is_valid():
        save_choices(request.user, form.chosen())
        messages.success(request, "Saved. Your choices hold from now on.")
        return redirect("settings")
    return render(request, "portal/settings.html", {"form": form})
