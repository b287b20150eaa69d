"""Support: the start page of staff, with what waits for them in each place; and the quality of the advice by rule."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.conf import settings
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from analysis.answers.selectors import closed_months
from analysis.cases.selectors import queue_summary
from analysis.feedback import GROUP_USERS_MIN
from analysis.outcomes.quality import (
    CASES_MIN,
    LITTLE_REALISED,
    MANY_FAILURES,
    REALISED_FRACTION_MIN,
    RuleRecord,
    rule_records,
)
from analysis.outcomes.selectors import SETTLED_AFTER
from analysis.outcomes.selectors import closed_months as closed_months_of_advice
from analysis.site.selectors import CLOSED_AFTER
from education.selectors import broken_link_count
from jobs.imports.selectors import directory_imports, directory_sources, unlinked_accounts, unlisted_projects
from jobs.imports.services import without_secrets
from jobs.models import JobShare
from jobs.selectors import open_shares
from portal.access import staff_page
from portal.charts.advice_outcomes import BASES
from portal.charts.answers import answer_rows
from reports.grant.wording import KINDS
from reports.models import Delivery
from reports.selectors import outbox
from reports.services.links import job_url

QUESTIONS_SHOWN = 5

REASONS = {
    LITTLE_REALISED: f"saved less than {REALISED_FRACTION_MIN:.0%} of what was claimed".replace("%", "\u00a0%"),
    MANY_FAILURES: "runs that followed ran out of memory or time more often than other runs",
}


@staff_page
def support(request: HttpRequest) -> HttpResponse:
    """The latest questions of owners, then every other place for staff."""
    shares = open_shares(timezone.now())
    context = {
        "shared": shares.count(),
        "questions": _linked(shares[:QUESTIONS_SHOWN]),
        "failed": outbox(Delivery.State.FAILED).count(),
        "pending": outbox(Delivery.State.PENDING).count(),
        "broken_links": broken_link_count(),
        "last_import": directory_imports().first(),
        "cases": queue_summary(timezone.now()),
    }
    return render(request, "portal/support/support.html", context)


@staff_page
def feedback_page(request: HttpRequest) -> HttpResponse:
    """Closed months alone: from sums before and after one person answers, the answer could be subtracted."""
    months = [(f"{day:%B %Y}", answer_rows(figures)) for day, figures in closed_months()]
    context = {"months": months, "users_min": GROUP_USERS_MIN, "closed_days": CLOSED_AFTER.days}
    return render(request, "portal/support/feedback_sums.html", context)


PAGE_SIZE = 50


@staff_page
def shared_jobs_page(request: HttpRequest) -> HttpResponse:
    """The latest first, each with its owner's question."""
    page = Paginator(open_shares(timezone.now()), PAGE_SIZE).get_page(request.GET.get("page"))
    page.object_list = _linked(page.object_list)
    return render(request, "portal/support/shared_jobs.html", {"page": page})


def _linked(shares: Iterable[JobShare]) -> list[JobShare]:
    """These shares, each with the page of its job for the template."""
    linked = list(shares)
    for share in linked:
        share.url = job_url(share.job)  # type: ignore[attr-defined]
    return linked


@staff_page
def outbox_page(request: HttpRequest) -> HttpResponse:
    """Every message by time, the newest first, optionally by state."""
    chosen = request.GET.get("state", "")
    chosen = chosen if chosen in Delivery.State.values else ""
    page = Paginator(outbox(chosen), PAGE_SIZE).get_page(request.GET.get("page"))
    return render(
        request, "portal/support/outbox.html", {"page": page, "states": Delivery.State.choices, "chosen": chosen}
    )


IMPORTS_SHOWN, NAMES_SHOWN = 20, 100


@staff_page
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


@dataclass(frozen=True)
class RuleRow:
    """One rule by its name, with why its record is poor."""

    kind: str
    name: str
    record: RuleRecord
    reasons: tuple[str, ...]


@staff_page
def advice_quality(request: HttpRequest) -> HttpResponse:
    """Stored months alone, added up: what is withheld in a month is in no sum."""
    months = closed_months_of_advice()
    rows = [
        RuleRow(
            KINDS.get(record.sums.kind, record.sums.kind),
            BASES.get(record.sums.basis, record.sums.basis),
            record,
            tuple(REASONS[reason] for reason in record.poor),
        )
        for record in rule_records(figures for _, figures in months)
    ]
    context = {
        "rows": rows,
        "is_judged": any(row.record.sums.given for row in rows),
        "poor": [row for row in rows if row.reasons],
        "first": months[0][0] if months else None,
        "last": months[-1][0] if months else None,
        "users_min": GROUP_USERS_MIN,
        "cases_min": CASES_MIN,
        "settled_days": SETTLED_AFTER.days,
    }
    return render(request, "portal/support/advice_quality.html", context)
