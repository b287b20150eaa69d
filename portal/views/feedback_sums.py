"""What people say of the findings, added up for support staff; nobody can be recognised in it."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from analysis.feedback import GROUP_USERS_MIN
from analysis.models import Feedback
from analysis.selectors import feedback_sums
from portal.access import staff_only
from reports.wording import TITLES

TITLES_BY_CODE = {Feedback.VERDICT: "The class of the job", **{code.value: title for code, title in TITLES.items()}}


@require_GET
@staff_only
def feedback_page(request: HttpRequest) -> HttpResponse:
    """Right and wrong for each finding and version of the rules."""
    rows = [(TITLES_BY_CODE.get(row.code, row.code), row) for row in feedback_sums()]
    return render(request, "portal/feedback_sums.html", {"rows": rows, "users_min": GROUP_USERS_MIN})
