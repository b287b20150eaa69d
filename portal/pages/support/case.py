"""The support queue, and one case of it: the sums of its flag, what staff did about it, and what they can do next.

The queue holds the cases of flags whose time of grace is over, the most to win first as far as sums are shown.
"""

from collections.abc import Callable
from datetime import datetime

from django.contrib import messages
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from analysis.cases.models import SupportCase
from analysis.cases.selectors import (
    cases_for_staff,
    counts_by_state,
    events_of,
    in_state,
    last_answer,
    open_request,
    paused_until,
    shares_of_owner,
)
from analysis.cases.services import CaseConflict, NotPossible, add_note, change_state, request_sharing
from analysis.cases.states import BUTTONS, CLOSED, NEXT, Action, State
from jobs.models import User
from portal.access import or_404, person, staff_page
from portal.charts.flags import WORD_OF_KIND, Figures, StaffFigures, staff_title
from portal.form_addresses import staff_change
from portal.pages.support.forms import NoteForm
from reports.mail.services.offers import offer_help, offer_to, recipients, why_nobody
from reports.numbers import to_one_digit
from reports.services.links import job_url

EVENTS_SHOWN = 200

PAGE_SIZE = 50
MINE = "mine"


@staff_page
def case(request: HttpRequest, pk: int) -> HttpResponse:
    """Only sums of the flag, and jobs that its owner shares."""
    return _page(request, _case(pk), NoteForm())


def _case(pk: int) -> SupportCase:
    """A case that staff see; Http404 before the time of grace is over, as where there is none."""
    return or_404(cases_for_staff(timezone.now()).filter(pk=pk).first(), "There is no such case.")


def _page(request: HttpRequest, row: SupportCase, form: NoteForm, status: int = 200) -> HttpResponse:
    user, people, state = person(request), recipients(row.flag), State(row.state)
    shares = list(shares_of_owner(row, timezone.now()))
    context = {
        "case": row,
        "title": staff_title(row.flag),
        "figures": StaffFigures(row.flag.at_last),
        "clear_share": Figures(row.flag.at_last).clear_share,
        "actions": _actions(row, user),
        "is_closed": state in CLOSED,
        "is_mine": row.holder_id == user.pk,
        "people": people,
        "offer": offer_to(row, people[0], user) if people else None,
        "why_nobody": "" if people else why_nobody(row.flag),
        "has_owner": row.flag.user_id is not None,
        "asked": open_request(row),
        "paused_until": paused_until(row.flag, timezone.now()),
        "answered": last_answer(row),
        "shared": [(share, job_url(share.job)) for share in shares],
        "events": events_of(row)[:EVENTS_SHOWN],
        "form": form,
    }
    return render(request, "portal/support/case.html", context, status=status)


def _actions(row: SupportCase, user: User) -> list[tuple[str, str]]:
    """What can be done now, as (value, label) of buttons."""
    possible = [action for action in NEXT[State(row.state)] if action is not Action.REOPEN or not row.flag.cleared_at]
    if row.holder_id == user.pk:
        possible = [action for action in possible if action is not Action.CLAIM]
    taken_over = row.holder_id is not None and row.holder_id != user.pk
    labels = BUTTONS | ({Action.CLAIM: "Take over"} if taken_over else {})
    return [(action.value, labels[action]) for action in possible]


def _changed(request: HttpRequest, pk: int, step: Callable[[SupportCase, int], str]) -> HttpResponse:
    """Do one thing to the case as the sender saw it; who was second gets the present state, and nothing is lost."""
    row, version = _case(pk), request.POST.get("version", "")
    if not version.isdecimal() or len(version) > 9:
        raise Http404("There is no such version.")
    try:
        messages.success(request, step(row, int(version)))
    except CaseConflict as conflict:
        messages.error(request, f"Nothing was changed: {_how_it_is(conflict.case)}")
    except NotPossible as reason:
        messages.error(request, f"Nothing was changed. {reason}")
    return redirect("support-case", pk)


def _how_it_is(row: SupportCase) -> str:
    """What the other person did."""
    holder = f", claimed by {row.holder.username}" if row.holder else ""
    return f"somebody else changed this case first. It is now {State(row.state).label.lower()}{holder}."


@staff_change
def change_case(request: HttpRequest, pk: int) -> HttpResponse:
    """Claim, release, wait, continue, resolve, dismiss or reopen."""
    name = request.POST.get("action", "")
    if name not in list(Action):
        raise Http404("There is no such action.")

    def step(row: SupportCase, version: int) -> str:
        changed = change_state(row, Action(name), version, person(request), timezone.now())
        return f"The case is {State(changed.state).label.lower()} now."

    return _changed(request, pk, step)


@staff_change
def note_case(request: HttpRequest, pk: int) -> HttpResponse:
    """Add a note for staff."""
    row, form = _case(pk), NoteForm(request.POST)
    if not form.is_valid():
        return _page(request, row, form, status=422)
    add_note(row, form.cleaned_data["text"], person(request), timezone.now())
    messages.success(request, "The note is added.")
    return redirect("support-case", pk)


@staff_change
def offer_in_case(request: HttpRequest, pk: int) -> HttpResponse:
    """Send the offer of help to the owner, or to the PIs of a project."""

    def step(row: SupportCase, version: int) -> str:
        people = offer_help(row, version, person(request), timezone.now())
        return f"The offer is in the outbox, for {', '.join(user.username for user in people)}."

    return _changed(request, pk, step)


@staff_change
def request_in_case(request: HttpRequest, pk: int) -> HttpResponse:
    """Ask the owner to share some of the jobs that the flag rests on."""

    def step(row: SupportCase, version: int) -> str:
        request_sharing(row, version, person(request), timezone.now())
        return "The request is sent. The owner sees it on the dashboard, and answers it there."

    return _changed(request, pk, step)


@staff_page
def queue(request: HttpRequest) -> HttpResponse:
    """Those that are not closed, those of one state, or those that the reader claimed; sums of flags, no jobs."""
    now = timezone.now()
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen == MINE or chosen in list(State) else ""
    cases = in_state(cases_for_staff(now), State(chosen) if chosen in list(State) else None)
    if chosen == MINE:
        cases = cases.filter(holder=request.user.pk)
    page = Paginator(sorted(cases, key=_place), PAGE_SIZE).get_page(request.GET.get("page"))
    counts = counts_by_state(now)
    context = {
        "page": page,
        "rows": [
            (case, staff_title(case.flag), WORD_OF_KIND[case.flag.kind], StaffFigures(case.flag.at_last))
            for case in page
        ],
        "states": [(state.value, state.label, count) for state, count in counts.items()],
        "chosen": chosen,
        "not_closed": sum(count for state, count in counts.items() if state not in CLOSED),
    }
    return render(request, "portal/support/queue.html", context)


def _place(case: SupportCase) -> tuple[bool, float, float, datetime, int]:
    """Where a case stands: by what staff read of it, never by exact sums, which the order would reveal.

    Cases whose sums are not shown come last; what is alike is in the order in which staff came to see it.
    """
    flag, is_shown = case.flag, StaffFigures(case.flag.at_last).is_shown
    saved, unused = (
        to_one_digit(hours) if is_shown else 0.0 for hours in (flag.saved_gpu_hours, flag.unused_gpu_hours)
    )
    return not is_shown, -saved, -unused, flag.visible_to_staff_at, case.pk
