"""What the owner or the PI says of a report: "was this right?"."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from analysis.models import Feedback
from analysis.selectors import judgement_of
from analysis.services import give_feedback, withdraw_feedback
from portal.access import person, visible_run
from portal.pages.job.forms import RIGHT, WITHDRAW, FeedbackForm
from reports.services.links import job_url


@require_POST
@login_required
def job_feedback(request: HttpRequest, cluster: str, job_id: int) -> HttpResponse:
    """One answer about one finding, or the class, of a judged run."""
    run = visible_run(request, cluster, job_id)
    judged = judgement_of(run)
    if judged is None:
        raise Http404("This job has no report yet.")
    form = FeedbackForm([Feedback.VERDICT, *judged.findings.values_list("code", flat=True)], request.POST)
    if not form.is_valid():
        messages.error(request, "Your answer was not kept: the report may have changed since you opened it.")
        return redirect(job_url(run))
    said = form.cleaned_data
    if said["answer"] == WITHDRAW:
        withdraw_feedback(run, person(request), said["code"])
    else:
        is_right = said["answer"] == RIGHT
        give_feedback(
            judged, person(request), code=said["code"], is_right=is_right, comment=said["comment"], now=timezone.now()
        )
    return redirect(f"{job_url(run)}#said-{said['code']}")
