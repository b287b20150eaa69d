"""The editor of one lesson, for staff, its preview and its history: who changed what, and how to restore a version."""

from http import HTTPStatus

from django.contrib import messages
from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST

from education.changes import changes
from education.lesson import LessonContent
from education.markup import lesson_html
from education.models import Lesson
from education.selectors import lesson_content, lesson_versions, newest_version, version_content
from education.services.editing import EditConflict, restore_version, save_lesson
from jobs.audit.services import Action, Kind, by_person, record_change
from portal.access import lesson_of, person, staff_form, staff_only, staff_page
from portal.pages.lessons.forms import LessonForm, LinkForms, LinkFormSet, filled_forms, form_of, sent_content


@staff_form
def edit_lesson(request: HttpRequest, code: str, language: str) -> HttpResponse:
    """The editor; "Save" stores a new version, "Preview" shows how it will look and stores nothing."""
    row = lesson_of(code, language)
    if request.method != "POST":
        content = lesson_content(row)
        return _editor(request, row, *filled_forms(content, row.version, code), preview=_preview(content))
    form, links = form_of(code)(request.POST), LinkFormSet(request.POST, prefix="links")
    is_valid = form.is_valid() & links.is_valid()
    preview = _preview(sent_content(form, links))
    if "preview" in request.POST:
        return _editor(request, row, form, links, preview=preview, is_preview=True)
    if not is_valid:
        return _editor(request, row, form, links, status=HTTPStatus.UNPROCESSABLE_ENTITY, preview=preview)
    try:
        with transaction.atomic():
            is_changed = save_lesson(row.pk, form.cleaned_data["version"], sent_content(form, links), person(request))
            if is_changed:
                record_change(by_person(person(request)), Action.LESSON_CHANGED, Kind.LESSON, row)
    except EditConflict as conflict:
        return _conflict(request, row, conflict, links)
    messages.success(request, "Saved as a new version." if is_changed else "Nothing was changed.")
    return redirect("edit-lesson", code, language)


@require_POST
@staff_only
def preview_lesson(request: HttpRequest, code: str, language: str) -> HttpResponse:
    """Only the preview of the fields' content, for the script that updates it while somebody types."""
    lesson_of(code, language)
    form, links = form_of(code)(request.POST), LinkFormSet(request.POST, prefix="links")
    form.is_valid(), links.is_valid()
    return render(request, "portal/lessons/_lesson_preview.html", {"preview": _preview(sent_content(form, links))})


def _editor(
    request: HttpRequest, row: Lesson, form: LessonForm, links: LinkForms, status: int = HTTPStatus.OK, **more: object
) -> HttpResponse:
    context = {"row": row, "form": form, "links": links, "newest": newest_version(row), **more}
    return render(request, "portal/lessons/edit_lesson.html", context, status=status)


def _conflict(request: HttpRequest, row: Lesson, conflict: EditConflict, links: LinkForms) -> HttpResponse:
    """The editor's text, still in the fields, beside what someone else saved; saving again is then allowed."""
    newest, sent = conflict.newest, request.POST.copy()
    sent["version"] = str(newest.number)
    form = form_of(row.code)(sent)
    form.is_valid()
    written = sent_content(form, links)
    theirs = changes(written, version_content(newest))
    more = {"conflict": newest, "theirs": theirs, "preview": _preview(written)}
    return _editor(request, row, form, links, status=HTTPStatus.CONFLICT, **more)


def _preview(content: LessonContent) -> dict[str, object]:
    return {
        "lesson": content,
        "explanation": lesson_html(content.explanation),
        "hint": lesson_html(content.hint),
    }


@staff_page
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
