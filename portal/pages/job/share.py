"""Letting support staff look at one job, and taking it back: the owner alone."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from jobs.services import end_shares, share_job
from portal.access import own_run
from portal.form_addresses import form_of_job
from portal.pages.job.forms import ShareForm
from portal.pages.job.views import job_page
from portal.rate_limits import CHANGES, limited
from reports.services.links import job_url


@form_of_job
@login_required
@limited(CHANGES)
def share(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """Support staff see this run from now on, for so many days; what does not fit comes back as it was written."""
    run, form = own_run(request, cluster, job_id), ShareForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Not shared: choose a number of days, and keep the question below 500 characters.")
        return job_page(request, run, {"share_form": form, "is_share_open": True})
    share_job(run, now=timezone.now(), **form.cleaned_data)
    messages.success(request, "Support staff can look at this job now.")
    return redirect(f"{job_url(run)}#support")


@form_of_job
@login_required
def end_share(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """Support staff find nothing there any longer."""
    run = own_run(request, cluster, job_id)
    end_shares(run, timezone.now())
    messages.success(request, "Support staff can no longer look at this job.")
    return redirect(f"{job_url(run)}#support")
