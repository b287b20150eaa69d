"""The card of a person's latest jobs that a site's other portal shows in a frame, where the site allows it.

It is the only page that may be framed, so it changes nothing and has no form: nobody can be led to click on anything
else than a link that opens the portal in a window of its own.
"""

from http import HTTPStatus

from csp.decorators import csp_replace
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_safe

from jobs.selectors import reach_of
from portal.access import person
from portal.charts.recent_jobs import recent_jobs
from portal.rate_limits import ANONYMOUS_API, API, seconds_to_wait

JOBS, JOBS_MAX = 5, 20


@xframe_options_exempt
@never_cache
@require_safe
def last_jobs(request: HttpRequest) -> HttpResponseBase:
    """The latest own jobs, `?n=` of them; who is not signed in gets the way to do that in a window of its own."""
    if not settings.EMBED_FRAME_ANCESTORS:
        raise Http404("This portal is shown in no other one.")
    is_signed_in = request.user.is_authenticated
    wait_s = seconds_to_wait(API if is_signed_in else ANONYMOUS_API, request)
    context = {"wait_s": wait_s, "portal": settings.SITE_URL}
    if is_signed_in and not wait_s:
        context["jobs"] = recent_jobs(reach_of(person(request)), _asked(request))
    status = HTTPStatus.TOO_MANY_REQUESTS if wait_s else HTTPStatus.OK
    return framed(request, render(request, "portal/embed/last_jobs.html", context, status=status))


def _asked(request: HttpRequest) -> int:
    asked = request.GET.get("n", "")
    return min(max(int(asked), 1), JOBS_MAX) if asked.isascii() and asked.isdecimal() and len(asked) < 4 else JOBS


def framed(request: HttpRequest, page: HttpResponse) -> HttpResponseBase:
    """The page, which the configured origins alone may show in a frame; no script and no form work in it."""
    nothing = ["'none'"]
    policy = {"script-src": nothing, "form-action": nothing, "connect-src": nothing}
    replaced = csp_replace(policy | {"frame-ancestors": list(settings.EMBED_FRAME_ANCESTORS)})
    return replaced(lambda _: page)(request)
