"""What the owner or the PI says of a report: "was this right?"."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone

from analysis.models import Feedback
from analysis.selectors import judgement_of
from analysis.services import give_feedback, withdraw_feedback
from jobs.models import Job
from portal.access import person, visible_run
from portal.form_addresses import form_of_job
from portal.pages.job.forms import COMMENT_LENGTH_MAX, RIGHT, WITHDRAW, FeedbackForm
from portal.pages.job.views import job_page
from reports.services.links import job_url


@form_of_job
@login_required
def job_feedback(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """One answer about one finding, or the class, of a judged run."""
    run = visible_run(request, cluster, job_id)
    judged = judgement_of(run)
    if judged is None:
        raise Http404("This job has no report yet.")
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
