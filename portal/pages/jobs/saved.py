"""Saved filters: a person keeps the filters that are on under a name, and removes them."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from jobs.saved_filters.models import FILTER_NAME_LENGTH_MAX
from jobs.saved_filters.selectors import own_filters
from jobs.saved_filters.services import SAVED_FILTERS_MAX, TooManyFilters, remove_filter, save_filter
from portal.access import person
from portal.pages.jobs.choices import Choices
from portal.pages.jobs.forms import JobFilterForm, SavedFilterForm
from portal.pages.jobs.offered import offered_to
from portal.rate_limits import CHANGES, limited


@require_POST
@login_required
@limited(CHANGES)
def save_present_filter(request: HttpRequest) -> HttpResponse:
    """Keep what is chosen under a name; what makes no sense is left out of it."""
    choices = _chosen(request)
    form = SavedFilterForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Not saved: a filter needs a name of at most {FILTER_NAME_LENGTH_MAX} characters.")
    elif not choices.narrowing:
        messages.error(request, "Not saved: no filter is on.")
    else:
        _save(request, form.cleaned_data["name"], choices.address)
    return _to_list(choices.address)


def _chosen(request: HttpRequest) -> Choices:
    """The choices of the address that the form holds."""
    address = QueryDict(request.POST.get("address", ""))
    return JobFilterForm(address, offered_to(person(request), address)).choices()


def _save(request: HttpRequest, name: str, address: str) -> None:
    try:
        save_filter(person(request), name=name, address=address, now=timezone.now())
        messages.success(request, f"Saved as “{name}”.")
    except TooManyFilters:
        messages.error(request, f"Not saved: you have {SAVED_FILTERS_MAX} saved filters. Remove one first.")


@require_POST
@login_required
@limited(CHANGES)
def remove_saved_filter(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a saved filter of one's own."""
    kept = get_object_or_404(own_filters(person(request)), pk=pk)
    remove_filter(kept)
    messages.success(request, f"Removed the saved filter “{kept.name}”.")
    return _to_list("")


def _to_list(address: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("my-jobs") + (f"?{address}" if address else ""))
