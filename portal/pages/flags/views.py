"""Flags: what raised them, what clears them, when support sees them; and the answers to requests of support."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone

from analysis.cases.models import ShareRequest
from analysis.cases.selectors import requests_ever_to, requests_to, steps_of
from analysis.cases.services import SHARED_DAYS, SHARED_JOBS_MAX, decline_sharing, share_requested
from analysis.escalation.selectors import IS_OPEN, flag_limits, flags_of_led, own_flags, runs_to_share, work_names
from analysis.models import JobEfficiency
from jobs.selectors import reach_of
from portal.access import person, signed_in_page
from portal.charts.flags import FlagCard, flag_cards, side_by_side
from portal.form_addresses import own_change
from reports.services.links import job_url
from wire.numbers import counted

CLEARED_MAX = 50
NOT_OPEN = "This request is no longer open: it was answered, or support withdrew it."


@dataclass(frozen=True)
class Asked:
    """A request of support, the flag that it is about, and the jobs that would be shared."""

    request: ShareRequest
    card: FlagCard | None
    runs: list[tuple[JobEfficiency, str]]


@signed_in_page
def flags(request: HttpRequest) -> HttpResponse:
    """The flags of the reader's jobs and works and of led projects, requests first, then cleared flags."""
    user, now = person(request), timezone.now()
    own = [*own_flags(user).filter(IS_OPEN), *own_flags(user).exclude(IS_OPEN)[:CLEARED_MAX]]
    reach = reach_of(user)
    shown = [*own, *flags_of_led(reach)]
    cards = flag_cards(shown, work_names(own), now, leads=bool(reach.led), steps=steps_of(shown))
    limits = flag_limits()
    context = {
        "asked": [_asked(row, cards) for row in requests_to(user)],
        "raised": [card for card in cards if card.flag.cleared_at is None],
        "cleared": [card for card in cards if card.flag.cleared_at is not None],
        "shared_days": SHARED_DAYS,
        "limits": limits,
        "raise_share": side_by_side(limits.raise_fraction, limits.raise_fraction)[0],
        "clear_share": side_by_side(limits.clear_fraction, limits.clear_fraction)[0],
    }
    return render(request, "portal/flags/flags.html", context)


def _asked(row: ShareRequest, cards: Sequence[FlagCard]) -> Asked:
    """A request comes with the flag that it is about, which is raised: otherwise it would be withdrawn."""
    runs = runs_to_share(row.case.flag, timezone.now(), SHARED_JOBS_MAX)
    card = next((card for card in cards if card.flag.pk == row.case.flag_id), None)
    return Asked(row, card, [(judged, job_url(judged.job)) for judged in runs])


@own_change
def answer_request(request: HttpRequest, pk: int) -> HttpResponse:
    """Share the jobs that the form lists, or none; only the owner of the flag may answer."""
    own, now = get_object_or_404(requests_ever_to(person(request)), pk=pk), timezone.now()
    asked = requests_to(person(request)).filter(pk=own.pk).first()
    if asked is None:
        messages.error(request, NOT_OPEN)
        return redirect("flags")
    if request.POST.get("answer") == "decline":
        if decline_sharing(asked, now):
            messages.success(request, "Nothing is shared. Support can see that you declined, and nothing else.")
        else:
            messages.error(request, NOT_OPEN)
        return redirect("flags")
    listed = set(request.POST.getlist("job"))
    jobs = [row.job for row in runs_to_share(asked.case.flag, now, SHARED_JOBS_MAX) if str(row.job_id) in listed]
    if not jobs:
        messages.error(request, "Nothing is shared: the jobs to share have changed. Here is the present list.")
    elif share_requested(asked, jobs, now):
        where = "its page" if len(jobs) == 1 else "their pages"
        said = f"Support can look at {counted(len(jobs), 'job')} for {SHARED_DAYS} days. You can end this on {where}."
        messages.success(request, said)
    else:
        messages.error(request, NOT_OPEN)
    return redirect("flags")
