"""Addresses that only take forms: who gets to one of a page by a link, or by signing in again, lands on that page.

And the form that confirms a deletion: a second look before something is gone.
"""

from collections.abc import Callable
from functools import wraps

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.views.decorators.http import require_POST

from portal.access import staff_only
from portal.rate_limits import CHANGES, limited
from portal.unsaved import has_unsaved, keeps_unsaved

View = Callable[..., HttpResponseBase]
NOTHING_SAVED = "Nothing was saved. If you had written something here, please write it again."


def own_change(view: View) -> View:
    """Takes what somebody who is signed in sends, not too often."""
    return require_POST(login_required(limited(CHANGES)(view)))


def staff_change(view: Callable[..., HttpResponse]) -> View:
    """The same of staff; 404 for everybody else."""
    return require_POST(limited(CHANGES)(staff_only(view)))


def form_of_page(page: str, nothing_done: str) -> Callable[[View], View]:
    """Takes what a form on the page of this name sends; a GET is redirected to that page, with this message there.

    Who is not signed in may sign in first.
    """

    def takes_forms(view: View) -> View:
        only_forms = require_POST(login_required(view))

        @wraps(view)
        def to_page(request: HttpRequest, *args: object, **kwargs: object) -> HttpResponseBase:
            if request.method not in ("GET", "HEAD"):
                return only_forms(request, *args, **kwargs)
            if request.user.is_authenticated:
                messages.info(request, nothing_done)
            return HttpResponseRedirect(reverse(page))

        return to_page

    return takes_forms


def form_of_job(view: View) -> View:
    """Takes what a form on a job's page sends; a GET is redirected to that page, its query kept.

    What comes after the session ended is not saved, but is in the form again after signing in.
    """
    only_forms = keeps_unsaved(require_POST(login_required(view)))

    @wraps(view)
    def to_page(request: HttpRequest, cluster: str, job_id: str) -> HttpResponseBase:
        if request.method not in ("GET", "HEAD"):
            return only_forms(request, cluster=cluster, job_id=job_id)
        if request.user.is_authenticated and not has_unsaved(request):
            messages.info(request, NOTHING_SAVED)
        query = request.META.get("QUERY_STRING", "")
        page = reverse("job", args=[cluster, job_id])
        return HttpResponseRedirect(f"{page}?{query}" if query else page)

    return to_page


class DeleteForm(forms.Form):
    """Whether somebody is sure."""

    is_sure = forms.BooleanField()
