"""The offer of help, for staff: its text with placeholders, a preview, and its earlier versions."""

from http import HTTPStatus

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from portal.access import person, staff_form
from portal.form_addresses import staff_change
from portal.pages.support.forms import OfferForm
from reports.mail.offer import PLACEHOLDERS, SHIPPED, OfferText, filled
from reports.mail.services.offers import OfferConflict, restore_offer, save_offer
from reports.models import HelpLetter
from reports.selectors import offer_text, offer_versions
from reports.services.links import address

VERSIONS_SHOWN = 20


@staff_form
def help_letter(request: HttpRequest) -> HttpResponse:
    """ "Save" stores a new version, "Preview" shows how it reads and stores nothing."""
    number, present = offer_text()
    if request.method != "POST":
        form = OfferForm(initial={"version": number, "subject": present.subject, "text": present.text})
        return _page(request, form, present)
    form = OfferForm(request.POST)
    if not form.is_valid():
        return _page(request, form, form.offer(), HTTPStatus.UNPROCESSABLE_ENTITY)
    if "preview" in request.POST:
        return _page(request, form, form.offer(), is_preview=True)
    try:
        is_changed = save_offer(form.cleaned_data["version"], form.offer(), person(request), timezone.now())
    except OfferConflict as conflict:
        sent = request.POST.copy()
        sent["version"] = str(conflict.newest.number)
        return _page(request, OfferForm(sent), form.offer(), HTTPStatus.CONFLICT, conflict=conflict.newest)
    messages.success(request, "Saved as a new version." if is_changed else "Nothing was changed.")
    return redirect("help-letter")


@staff_change
def restore_letter(request: HttpRequest) -> HttpResponse:
    """Store an earlier version, or the text that comes with Kaiku, as a new version."""
    opened, number = request.POST.get("version", ""), request.POST.get("number", "")
    if not all(text.isdecimal() and len(text) < 9 for text in (opened, number)):
        raise Http404("There is no such version.")
    try:
        is_changed = restore_offer(int(opened), int(number), person(request), timezone.now())
    except HelpLetter.DoesNotExist as error:
        raise Http404("There is no such version.") from error
    except OfferConflict as conflict:
        messages.error(request, f"Version {conflict.newest.number} was saved meanwhile. Nothing was restored.")
    else:
        what = f"Version {int(number)}" if int(number) else "The original text"
        messages.success(request, f"{what} is restored." if is_changed else f"{what} is the present text already.")
    return redirect("help-letter")


def _page(
    request: HttpRequest, form: OfferForm, shown: OfferText, status: int = HTTPStatus.OK, **more: object
) -> HttpResponse:
    sample = {"name": "alice", "what": "your GPU jobs", "unused": "64.0", "hours": "80.0", "days": "14"}
    sample |= {"first_day": "2026-11-07", "last_day": "2026-11-20"}
    values = sample | {"sender": person(request).username, "link": address("flags")}
    context = {
        "form": form,
        "preview": filled(shown, values),
        "placeholders": PLACEHOLDERS.items(),
        "versions": offer_versions()[:VERSIONS_SHOWN],
        "present_number": offer_text()[0],
        "shipped": SHIPPED,
        **more,
    }
    return render(request, "portal/support/help_letter.html", context, status=status)
