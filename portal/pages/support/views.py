"""Support: the start page of staff, with what waits for them in each place."""

from __future__ import annotations

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_GET

from analysis.answers.selectors import closed_months
from analysis.cases.selectors import queue_summary
from analysis.feedback import GROUP_USERS_MIN
from analysis.site.selectors import CLOSED_AFTER
from education.selectors import broken_link_count
from jobs.imports.selectors import directory_imports, directory_sources, unlinked_accounts, unlisted_projects
from jobs.imports.services import without_secrets
from jobs.selectors import open_shares
from portal.access import staff_only
from portal.charts.answers import answer_rows
from reports.models import Delivery
from reports.selectors import outbox
from reports.services.links import job_url

QUESTIONS_SHOWN = 5


@require_GET
@staff_only
def support(request: HttpRequest) -> HttpResponse:
    """The latest questions of owners, then every other place for staff."""
    shares = open_shares(timezone.now())
    questions = list(shares[:QUESTIONS_SHOWN])
    for share in questions:
        share.url = job_url(share.job)  # type: ignore[attr-defined]  # for the template
    context = {
        "shared": shares.count(),
        "questions": questions,
        "failed": outbox(Delivery.State.FAILED).count(),
        "pending": outbox(Delivery.State.PENDING).count(),
        "broken_links": broken_link_count(),
        "last_import": directory_imports().first(),
        "cases": queue_summary(timezone.now()),
    }
    return render(request, "portal/support/support.html", context)


@require_GET
@staff_only
def feedback_page(request: HttpRequest) -> HttpResponse:
    """Closed months alone: from sums before and after one person answers, the answer could be subtracted."""
    months = [(f"{day:%B %Y}", answer_rows(figures)) for day, figures in closed_months()]
    context = {"months": months, "users_min": GROUP_USERS_MIN, "closed_days": CLOSED_AFTER.days}
    return render(request, "portal/support/feedback_sums.html", context)


PAGE_SIZE = 50


@require_GET
@staff_only
def shared_jobs_page(request: HttpRequest) -> HttpResponse:
    """The latest first, each with its owner's question."""
    page = Paginator(open_shares(timezone.now()), PAGE_SIZE).get_page(request.GET.get("page"))
    for share in page:
        share.url = job_url(share.job)  # type: ignore[attr-defined]  # for the template
    return render(request, "portal/support/shared_jobs.html", {"page": page})


PAGE_SIZE = 50


@require_GET
@staff_only
def outbox_page(request: HttpRequest) -> HttpResponse:
    """Every message by time, the newest first, optionally by state."""
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen in Delivery.State.values else ""
    page = Paginator(outbox(chosen), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(
        request, "portal/support/outbox.html", {"page": page, "states": Delivery.State.choices, "chosen": chosen}
    )


IMPORTS_SHOWN, NAMES_SHOWN = 20, 100


@require_GET
@staff_only
def directory_state(request: HttpRequest) -> HttpResponse:
    """Contains only names of people and projects, and nothing about anybody's jobs."""
    unlinked, unlisted = unlinked_accounts(), unlisted_projects()
    imports = list(directory_imports()[:IMPORTS_SHOWN])
    context = {
        "asked": without_secrets(settings.DIRECTORY_SOURCE, settings.DIRECTORY_SOURCE),
        "minutes": settings.DIRECTORY_SECONDS / 60,
        "has_provider": settings.OIDC_PROVIDER is not None,
        "sources": directory_sources(),
        "imports": imports,
        "latest": next((row for row in imports if not row.error), None),
        "unlinked_count": unlinked.count(),
        "unlinked": unlinked.values_list("username", flat=True)[:NAMES_SHOWN],
        "unlisted_count": unlisted.count(),
        "unlisted": unlisted.values_list("name", flat=True)[:NAMES_SHOWN],
    }
    return render(request, "portal/support/directory_state.html", context)
