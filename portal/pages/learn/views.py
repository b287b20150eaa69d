"""Learn: every published lesson, and a search in them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from education.lesson import DEFAULT_LANGUAGE, LANGUAGES, matching
from education.markup import lesson_html
from education.selectors import current_lessons, shown_languages
from reports.wording import TITLES

QUERY_CHARACTERS_MAX = 200


def asked_language(request: HttpRequest) -> str:
    """The language in `?language=`, else English."""
    language = request.GET.get("language", "")
    return language if language in LANGUAGES else DEFAULT_LANGUAGE


@require_GET
@login_required
def learn(request: HttpRequest) -> HttpResponse:
    """The lessons that contain every word of `?q=`; all lessons without it."""
    language = asked_language(request)
    query = request.GET.get("q", "").replace("\x00", " ")[:QUERY_CHARACTERS_MAX].strip()
    found = matching(current_lessons(language), query)
    return render(
        request,
        "portal/learn/learn.html",
        {
            "query": query,
            "lessons": sorted(found.items(), key=lambda item: item[1].title),
            "language": language,
            "languages": {code: LANGUAGES[code] for code in shown_languages()},
        },
    )


@require_GET
@login_required
def lesson(request: HttpRequest, code: str) -> HttpResponse:
    """The micro-lesson, the explanation, the hint and the links of one published lesson."""
    language = asked_language(request)
    found = {known.value: (known, content) for known, content in current_lessons(language).items()}.get(code)
    if found is None:
        raise Http404("There is no such lesson.")
    known, content = found
    return render(
        request,
        "portal/learn/lesson.html",
        {
            "code": code,
            "finding": TITLES[known],
            "lesson": content,
            "explanation": lesson_html(content.explanation),
            "hint": lesson_html(content.hint),
            "language": language,
        },
    )
