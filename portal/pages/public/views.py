"""Public: a few closed figures of the site for everybody, without sign-in, where the site wants it (PUBLIC_PAGE)."""

import hashlib
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import get_conditional_response
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_safe

from analysis.feedback import GROUP_USERS_MIN
from analysis.outcomes.selectors import closed_months as closed_months_of_advice
from analysis.site.figures import Cell
from analysis.site.selectors import CLOSED_AFTER, SiteMonth, closed_months
from jobs.hardware import site
from portal.charts.advice_outcomes import savings
from portal.charts.site_claims import WITHHELD_WORDS, emission, number
from portal.rate_limits import ANONYMOUS_API, count_call, too_often
from portal.sign_in.attempts import client_address
from reports.numbers import share, unbroken
from wire.classes import CLASS_NAMES, in_words

CACHED_S = 3600
"""How long a browser or a proxy may show the page without asking; the figures change once a month."""


@csrf_exempt
@require_safe
def public(request: HttpRequest) -> HttpResponse:
    """The latest month that may be shown, and the months before it.

    Other methods are 405 without a check of a token against forged forms: there is no cookie, and nothing changes.

    It is rendered without the request, and `portal.middleware.public_page` hides the cookies: every answer is the same.
    """
    if not settings.PUBLIC_PAGE:
        raise Http404("This portal has no public page.")
    wait_s = count_call(ANONYMOUS_API, f"address {client_address(request)}")
    if wait_s:
        return too_often(request, wait_s)
    page = HttpResponse(render_to_string("portal/public/public.html", _context()))
    page["Cache-Control"] = f"public, max-age={CACHED_S}"
    page["ETag"] = f'"{hashlib.sha256(page.content).hexdigest()[:32]}"'
    return get_conditional_response(request, etag=page["ETag"], response=page) or page


def _context() -> dict[str, Any]:
    closed = closed_months()
    months = [month for month in closed if not month.figures.total.withheld]
    context = {
        "is_withheld": bool(closed),
        "site_name": site().name,
        "what_classes_mean": unbroken(in_words()),
        "users_min": GROUP_USERS_MIN,
        "closed_days": CLOSED_AFTER.days,
        "months": [(f"{month.first_day:%b %Y}", *_sums(month.figures.total)) for month in reversed(months)],
    }
    return context | (_latest(months[-1]) if months else {})


def _latest(month: SiteMonth) -> dict[str, Any]:
    figures = month.figures
    advice = closed_months_of_advice()
    return {
        "name": f"{month.first_day:%B %Y}",
        "allocated": number(figures.total.allocated),
        "used": number(figures.total.used),
        "unused_share": _share_of(figures.total.unused, figures.total.allocated),
        "classes": [
            {
                "name": CLASS_NAMES.get(cell.name, cell.name),
                "withheld": WITHHELD_WORDS.get(cell.withheld, ""),
                "allocated": number(cell.allocated),
                "share": _share_of(cell.allocated, figures.total.allocated),
            }
            for cell in figures.tables.get("class", [])
        ],
        "energy_kwh": number(figures.energy_kwh),
        "emission": emission(figures.energy_kwh, month.first_day),
        "savings": savings(advice[-1][1], advice[-1][0]) if advice else None,
        "savings_name": f"{advice[-1][0]:%B %Y}" if advice else "",
    }


def _sums(total: Cell) -> tuple[str, str, str]:
    return number(total.allocated), number(total.used), _share_of(total.unused, total.allocated)


def _share_of(part: float | None, whole: float | None) -> str:
    """Computed from the rounded figures that stand beside it."""
    return unbroken(share(part / whole)) if part is not None and whole else "–"
