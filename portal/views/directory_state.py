"""The state of the directories, for staff: what each says, what the last imports did, and what none of them covers."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from jobs.imports.selectors import directory_imports, directory_sources, unlinked_accounts, unlisted_projects
from jobs.imports.services import without_secrets
from portal.access import staff_only

IMPORTS_SHOWN, NAMES_SHOWN = 20, 100


@require_GET
@staff_only
def directory_state(request: HttpRequest) -> HttpResponse:
    """Names of people and projects alone: nothing here tells of anybody's jobs."""
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
    return render(request, "portal/directory_state.html", context)
