"""Saved filters: a person keeps the filters that are on under a name, and removes them."""

from collections.abc import Mapping

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, QueryDict
from django.urls import reverse
from django.utils import timezone

from jobs.saved_filters.models import FILTER_NAME_LENGTH_MAX
from jobs.saved_filters.selectors import own_filters
from jobs.saved_filters.services import SAVED_FILTERS_MAX, NameTaken, TooManyFilters, remove_filter, save_filter
from portal.access import person, signed_in_form
from portal.form_addresses import NOTHING_SAVED, form_of_page
from portal.pages.jobs.choices import Choices, offered_to
from portal.pages.jobs.forms import JobFilterForm, SavedFilterForm
from portal.rate_limits import CHANGES, limited
from portal.unsaved import keeps_unsaved, take_unsaved

TAKEN, TYPED = "filter-name-taken", "filter-name-typed"
"""Names for a filter: one that another filter has, and one that was sent after the session had ended."""


def name_once(request: HttpRequest, key: str, choices: Choices) -> str:
    """The name of this kind under which this very filter was to be saved; given once, then forgotten."""
    kept = request.session.pop(key, None)
    return kept["name"] if kept and kept["address"] == choices.address else ""


@keeps_unsaved
@signed_in_form
@limited(CHANGES)
def save_present_filter(request: HttpRequest) -> HttpResponse:
    """Keep what is chosen under a name; what makes no sense is left out of it. A GET leads to the list."""
    if request.method != "POST":
        return _not_saved_yet(request)
    choices = _chosen(request, request.POST)
    form = SavedFilterForm(request.POST)
    if not form.is_valid() and "name" in form.errors:
        messages.error(request, f"Not saved: a filter needs a name of at most {FILTER_NAME_LENGTH_MAX} characters.")
    elif not form.is_valid():
        messages.error(request, "Not saved: the filter is too long.")
    elif not choices.narrowing:
        messages.error(request, "Not saved: no filter is on.")
    else:
        _save(request, form.cleaned_data["name"], choices.address, replaces=form.cleaned_data["replaces"])
    return _to_list(choices.address)


def _not_saved_yet(request: HttpRequest) -> HttpResponse:
    """The list with the filter that was sent after the session had ended, and its name in the form again."""
    unsaved = take_unsaved(request, request.path)
    if unsaved is None:
        messages.info(request, NOTHING_SAVED)
        return _to_list("")
    choices = _chosen(request, unsaved[1])
    request.session[TYPED] = {"name": unsaved[1].get("name", ""), "address": choices.address}
    messages.info(request, "Not saved yet: you were signed out when you sent this. The name is in its form again.")
    return _to_list(choices.address)


def _chosen(request: HttpRequest, sent: Mapping[str, str]) -> Choices:
    """The choices of the address that the form holds."""
    address = QueryDict(sent.get("address", ""))
    return JobFilterForm(address, offered_to(person(request), address)).choices()


def _save(request: HttpRequest, name: str, address: str, *, replaces: bool) -> None:
    try:
        save_filter(person(request), name=name, address=address, now=timezone.now(), replaces=replaces)
        messages.success(request, f"Saved as “{name}”.")
    except NameTaken:
        messages.error(request, f"Not saved yet: you have another filter with the name “{name}”.")
        request.session[TAKEN] = {"name": name, "address": address}
    except TooManyFilters:
        messages.error(request, f"Not saved: you have {SAVED_FILTERS_MAX} saved filters. Remove one first.")


@form_of_page("my-jobs", "Nothing was removed. To remove a saved filter, choose it under “Remove saved”.")
@limited(CHANGES)
def remove_saved_filter(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove a saved filter of one's own; one that is not there, or is somebody else's, counts as removed."""
    kept = own_filters(person(request)).filter(pk=pk).first()
    if kept is None:
        messages.info(request, "This saved filter was already removed.")
        return _to_list("")
    remove_filter(kept)
    messages.success(request, f"Removed the saved filter “{kept.name}”.")
    return _to_list("")


def _to_list(address: str) -> HttpResponseRedirect:
    return HttpResponseRedirect(reverse("my-jobs") + (f"?{address}" if address else ""))
