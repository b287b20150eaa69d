"""The owner's note and tags beside a run."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from jobs.models import Job
from jobs.notes.services import Written, write_note
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
    said = form.cleaned_data
    # A form that was opened before forms had versions sends none.
    version = said["version"] if "version" in request.POST else None
    written = write_note(
        run, person(request), text=said["text"], tags=said["tags"], version=version, now=timezone.now()
    )
    if not written.is_kept:
        return _changed_meanwhile(request, run, written)
    messages.success(request, "Note and tags saved.")
    return redirect(f"{job_url(run)}#note")


def _changed_meanwhile(request: HttpRequest, run: Job, found: Written) -> HttpResponse:
    """The page with what was typed, beside what another tab saved: saving again replaces what is shown."""
    messages.error(request, "Your note was not saved: it was changed since you opened this page.")
    form = NoteForm(request.POST.dict() | {"version": found.version})
    shown = {"note_form": form, "is_note_open": True, "saved_elsewhere": found}
    return job_page(request, run, shown | {"typed_on": request.POST.get("version", "")})
