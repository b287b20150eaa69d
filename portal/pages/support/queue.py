"""The support queue: the cases of flags whose time of grace is over, the most to win first as far as sums are shown."""

from __future__ import annotations

from datetime import datetime

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.cases.models import SupportCase
from analysis.cases.selectors import cases_for_staff, counts_by_state, in_state
from analysis.cases.states import CLOSED, State
from portal.access import staff_only
from portal.charts.flags import WORD_OF_KIND, StaffFigures, staff_title
from reports.numbers import to_one_digit

PAGE_SIZE = 50
MINE = "mine"


@require_GET
@staff_only
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
