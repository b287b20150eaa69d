"""Lessons, for staff: all of them with their state, the start of a translation, and which links can be reached."""

from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from education.lesson import DEFAULT_LANGUAGE, PROGRAM, LessonContent
from education.selectors import checked_links, lessons_for_staff, open_check
from education.services.editing import create_lesson, start_translation
from education.services.links import ask_for_check
from jobs.audit.services import Action, Kind, by_person, record_change
from portal.access import lesson_of, person, staff_form, staff_only, staff_page
from portal.pages.lessons.forms import NewProgramForm, TranslationForm


@staff_page
def lessons(request: HttpRequest) -> HttpResponse:
    """Every stored lesson; lessons with broken links are marked."""
    rows = list(lessons_for_staff())
    programs = [row for row in rows if row.code.startswith(PROGRAM)]
    findings = [row for row in rows if not row.code.startswith(PROGRAM)]
    context = {
        "parts": [("For findings", findings), ("For programs", programs)] if rows else [],
        "count": len(rows),
        "dead_count": sum(row.dead_links for row in rows),
        "form": TranslationForm(),
        "program_form": NewProgramForm(),
    }
    return render(request, "portal/lessons/lessons.html", context)


@staff_form
def start_lesson(request: HttpRequest) -> HttpResponse:
    """Start a translation, or continue the existing one."""
    if request.method != "POST":
        return render(request, "portal/lessons/new_lesson.html", {"form": TranslationForm()})
    form = TranslationForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose one of the lessons and one of the languages for a translation.")
        return redirect("lessons")
    code, language = form.cleaned_data["code"], form.cleaned_data["language"]
    lesson_of(code, DEFAULT_LANGUAGE)
    with transaction.atomic():
        is_new = start_translation(code, language, person(request))
        if is_new:
            said = f"{code} ({language})"
            record_change(by_person(person(request)), Action.LESSON_CHANGED, Kind.LESSON, said, "translation started")
    if is_new:
        messages.success(request, "This is a hidden copy of the English lesson. Translate it, then publish it.")
    return redirect("edit-lesson", code, language)


@require_POST
@staff_only
def start_program(request: HttpRequest) -> HttpResponse:
    """Start a hidden lesson about another program, or continue the existing one."""
    form = NewProgramForm(request.POST)
    if not form.is_valid():
        messages.error(request, "The name of a program has a letter or a digit, and at most 40 characters.")
        return redirect("lessons")
    code, content = form.code, LessonContent(form.cleaned_data["name"], "", is_active=False)
    with transaction.atomic():
        is_new = create_lesson(code, DEFAULT_LANGUAGE, content, timezone.now(), editor=person(request))
        if is_new:
            record_change(by_person(person(request)), Action.LESSON_CHANGED, Kind.LESSON, code, "program added")
    if is_new:
        messages.success(request, "This lesson is hidden. Write how jobs are named and what to do, then publish it.")
    return redirect("edit-lesson", code, DEFAULT_LANGUAGE)


@staff_page
def lesson_links(request: HttpRequest) -> HttpResponse:
    """Each address once, the broken ones first."""
    links = checked_links()
    context = {
        "links": links,
        "broken_count": sum(bool(link.problem) for link in links),
        "last_checked_at": max((link.checked_at for link in links if link.checked_at), default=None),
        "asked": open_check(),
    }
    return render(request, "portal/lessons/lesson_links.html", context)


@require_POST
@staff_only
def check_links(request: HttpRequest) -> HttpResponse:
    """A worker checks all of them within a minute; some take longer to answer than anyone waits for a page."""
    ask_for_check(timezone.now())
    messages.success(request, "Check requested. A worker checks the links within the next minutes.")
    return redirect("lesson-links")
