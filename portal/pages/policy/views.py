"""Policy: the policy export of a closed month as a table, with its downloads, for staff and policy readers."""

from __future__ import annotations

from collections.abc import Mapping

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.feedback import GROUP_USERS_MIN
from analysis.policy.figures import PROJECT
from analysis.policy.selectors import lines_of, policy_months, withheld_counts
from analysis.policy.suggestion import JOBS_MIN, LEAST, MOST
from analysis.site.selectors import CLOSED_AFTER
from jobs.audit.services import by_person
from portal.access import person, policy_readers_only
from portal.pages.policy.parts import KINDS, page_row, withheld_lines
from portal.policy_reading import FORMATS, NoSuchPeriod, log_reading, reading, what_of

PAGE_SIZE = 50
ONE_MONTH = "This page shows one month; since and until apply to downloads."


@require_GET
@policy_readers_only
def policy(request: HttpRequest) -> HttpResponse:
    """Projects or users, with `?by=user`, of the latest closed month or of one of those shown with `?period=`."""
    months = policy_months()
    period = next((str(month) for month in months if str(month) == request.GET.get("period")), None)
    by = next((kind for kind in KINDS if kind == request.GET.get("by")), PROJECT)
    asked = reading(period=period, by=by)
    page = Paginator(asked.rows, PAGE_SIZE).get_page(request.GET.get("page"))
    rows = [page_row(line) for line in lines_of(asked.rows.filter(pk__in=[row.pk for row in page]))]
    log_reading(by_person(person(request)), what_of(asked), f"page {page.number}", len(rows))
    context = {
        "months": [(month.first_day, str(month)) for month in reversed(months)],
        "shown": asked.months[0] if asked.months else None,
        "kinds": KINDS.items(),
        "by": by,
        "page": page,
        "rows": rows,
        "withheld": withheld_lines(withheld_counts(asked.rows)),
        "formats": FORMATS,
        **{"users_min": GROUP_USERS_MIN, "closed_days": CLOSED_AFTER.days, "least": LEAST, "most": MOST},
        **{
            "jobs_min": JOBS_MIN,
            "least_of_range": "" if by == PROJECT else ", at least",
            "not_shown": not_shown(request.GET),
        },
        "is_named": settings.POLICY_NAMES,
    }
    return render(request, "portal/policy/policy.html", context)


def not_shown(asked: Mapping[str, str]) -> str:
    """Why the page does not show the months that its address asks for; empty where it does."""
    given = {name: asked[name] for name in ("period", "since", "until", "by") if name in asked}
    try:
        reading(**given)
    except (ValueError, NoSuchPeriod) as error:
        return str(error)
    return ONE_MONTH if {"since", "until"} & set(given) else ""
