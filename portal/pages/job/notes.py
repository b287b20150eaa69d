"""The owner's note and tags beside a run."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from jobs.notes.services import write_note
from portal.access import own_run, person
from portal.form_addresses import form_of_job
from portal.pages.job.forms import NoteForm
from portal.pages.job.views import job_page
from portal.rate_limits import CHANGES, limited
from reports.services.links import job_url


@form_of_job
@login_required
@limited(CHANGES)
def job_note(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """Keep what the owner writes; what does not fit comes back on the page, as it was written."""
    run, form = own_run(request, cluster, job_id), NoteForm(request.POST)
    if not form.is_valid():
        return job_page(request, run, {"note_form": form, "is_note_open": True})
    write_note(run, person(request), now=timezone.now(), **form.cleaned_data)
    messages.success(request, "Note and tags saved.")
    return redirect(f"{job_url(run)}#note")
