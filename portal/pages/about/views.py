"""About: what is measured, how it is judged, and who sees it."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.feedback import GROUP_USERS_MIN
from analysis.findings import RIGHT_AT_THRESHOLD, RIGHT_FAR_PAST_IT
from analysis.thresholds import LIMITS, RULES_VERSION
from portal.version import VERSION
from reports.wording import TITLES


@require_GET
def about(request: HttpRequest) -> HttpResponse:
    """Open to everyone, signed in or not, because it contains no personal data."""
    context = {
        "limits": LIMITS,
        "version": VERSION,
        "rules_version": RULES_VERSION,
        "titles": TITLES.values(),
        "right_at_threshold": RIGHT_AT_THRESHOLD,
        "right_far_past_it": RIGHT_FAR_PAST_IT,
        "users_min": GROUP_USERS_MIN,
    }
    return render(request, "portal/about/about.html", context)
