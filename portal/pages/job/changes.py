"""What people send from a job's page: the owner's note, letting support look, and answers to "was this right?"."""

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from analysis.models import Feedback
from analysis.selectors import judgement_of
from analysis.services import give_feedback, withdraw_feedback
from jobs.models import Job
from jobs.notes.services import Written, write_note
from jobs.services import end_shares, share_job
from portal.access import or_404, own_run, person, visible_run
from portal.form_addresses import form_of_job
from portal.pages.job.forms import COMMENT_LENGTH_MAX, RIGHT, WITHDRAW, FeedbackForm, NoteForm, ShareForm
from portal.pages.job.views import job_page
from portal.rate_limits import CHANGES, limited
from reports.services.links import job_url


@form_of_job
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


@form_of_job
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
def end_share(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """Support staff find nothing there any longer."""
    run = own_run(request, cluster, job_id)
    end_shares(run, timezone.now())
    messages.success(request, "Support staff can no longer look at this job.")
    return redirect(f"{job_url(run)}#support")


@form_of_job
def job_feedback(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """One answer about one finding, or the class, of a judged run."""
    run = visible_run(request, cluster, job_id)
    judged = or_404(judgement_of(run), "This job has no report yet.")
    form = FeedbackForm([Feedback.VERDICT, *judged.findings.values_list("code", flat=True)], request.POST)
    if not form.is_valid():
        return _refused(request, run, form)
    said = form.cleaned_data
    if said["answer"] == WITHDRAW:
        withdraw_feedback(run, person(request), said["code"])
    else:
        is_right = said["answer"] == RIGHT
        give_feedback(
            judged, person(request), code=said["code"], is_right=is_right, comment=said["comment"], now=timezone.now()
        )
    return redirect(f"{job_url(run)}#said-{said['code']}")


def _refused(request: HttpRequest, run: Job, form: FeedbackForm) -> HttpResponse:
    """The page with the comment as it was written, beside the class where the finding is no longer in the report."""
    if "comment" in form.errors:
        messages.error(request, f"Your answer was not kept: a comment can have {COMMENT_LENGTH_MAX} characters.")
    else:
        messages.error(request, "Your answer was not kept: the report may have changed since you opened it.")
    code = Feedback.VERDICT if "code" in form.errors else form.cleaned_data["code"]
    comment = form.data.get("comment", "")
    refused = {"code": code, "comment": comment}
    if "comment" in form.errors:
        # As its writer saw it: browsers send two characters for the end of a line.
        refused["length"] = len(comment.replace("\r\n", "\n"))
    return job_page(request, run, {"refused_answer": refused, "comment_length_max": COMMENT_LENGTH_MAX})
