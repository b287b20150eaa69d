"""What runs now and how it uses its GPUs so far: a page of its own, and the part of others that updates itself."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from jobs.selectors import reach_of
from portal.access import person, signed_in_page
from portal.charts.running import FEW_MAX, LISTED_MAX, running_jobs


@signed_in_page
def running(request: HttpRequest) -> HttpResponse:
    """The running jobs of this person and of projects they lead: with `?own=1` their own alone, with `?few=1` few."""
    is_own, is_few = request.GET.get("own") == "1", request.GET.get("few") == "1"
    limit = FEW_MAX if is_few else LISTED_MAX
    found = running_jobs(reach_of(person(request)), timezone.now(), limit, is_own=is_own)
    return render(request, "portal/running/running.html", {"running": found, "is_own": is_own, "is_few": is_few})
