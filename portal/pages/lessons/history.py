"""The history of one lesson, for staff: who changed what and when, and how to restore a version."""

from __future__ import annotations

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_GET, require_POST

from education.changes import changes
from education.selectors import lesson_versions, version_content
from education.services.editing import EditConflict, restore_version
from jobs.audit.services import Action, Kind, by_person, record_change
from portal.access import lesson_of, person, staff_only


@require_GET
@staff_only
def lesson_history(request: HttpRequest, code: str, language: str) -> HttpResponse:
    """Every version, the newest first, with what it changed."""
    row = lesson_of(code, language)
    versions = list(lesson_versions(row))
    contents = [version_content(version) for version in versions]
    changed = [changes(before, after) for after, before in zip(contents, [*contents[1:], None], strict=True)]
    context = {"row": row, "versions": list(zip(versions, changed, strict=True))}
    return render(request, "portal/lessons/lesson_history.html", context)


@require_POST
@staff_only
def restore_lesson(request: HttpRequest, code: str, language: str) -> HttpResponse:
    """Restore version `number` as a new version; nothing happens if someone saved after this page was opened."""
    row = lesson_of(code, language)
    number, opened = request.POST.get("number", ""), request.POST.get("version", "")
    if not (opened.isdecimal() and number.isdecimal() and len(number) < 9 and len(opened) < 9):
        raise Http404("There is no such version.")
    if not row.versions.filter(number=int(number)).exists():
        raise Http404("There is no such version.")
    try:
        with transaction.atomic():
            is_changed = restore_version(row.pk, int(opened), int(number), person(request))
            if is_changed:
                said = f"version {number} restored"
                record_change(by_person(person(request)), Action.LESSON_CHANGED, Kind.LESSON, row, said)
    except EditConflict as conflict:
        messages.error(request, f"Version {conflict.newest.number} was saved meanwhile. Nothing was restored.")
    else:
        said = f"Version {number} is restored." if is_changed else "The lesson is already the same as this version."
        messages.success(request, said)
    return redirect("lesson-history", code, language)
