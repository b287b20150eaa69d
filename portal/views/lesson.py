"""One lesson as people read it."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from education.markup import lesson_html
from education.selectors import current_lessons
from portal.views.learn import asked_language
from reports.wording import TITLES


@require_GET
@login_required
def lesson(request: HttpRequest, code: str) -> HttpResponse:
    """The micro-lesson, the explanation, the hint and the links of one shown lesson."""
    language = asked_language(request)
    found = {known.value: (known, content) for known, content in current_lessons(language).items()}.get(code)
    if found is None:
        raise Http404("There is no such lesson.")
    known, content = found
    return render(
        request,
        "portal/lesson.html",
        {
            "code": code,
            "finding": TITLES[known],
            "lesson": content,
            "explanation": lesson_html(content.explanation),
            "hint": lesson_html(content.hint),
            "language": language,
        },
    )
