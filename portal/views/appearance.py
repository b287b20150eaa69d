"""Settings: light or dark, and the time zone of a person's pages."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from jobs.accounts.services import save_appearance
from portal.forms.settings import AppearanceForm


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def appearance(request: HttpRequest) -> HttpResponse:
    """The choices of the signed-in person, on every device; without any each device decides for itself."""
    chosen = {"theme": request.user.theme, "time_zone": request.user.time_zone}
    form = AppearanceForm(request.POST if request.method == "POST" else None, initial=chosen)
    if form.is_valid():
        save_appearance(request.user, **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("appearance")
    return render(request, "portal/appearance.html", {"form": form})
