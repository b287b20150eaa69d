"""Learn: every published lesson, and a search in them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from education.lesson import DEFAULT_LANGUAGE, LANGUAGES, PROGRAM, LessonContent, matching
from education.markup import lesson_html
from education.selectors import current_lessons, current_programs, shown_languages
from portal.access import or_404, signed_in_page
from portal.charts.practices import of_others
from reports.wording import TITLES

QUERY_CHARACTERS_MAX = 200


def asked_language(request: HttpRequest) -> str:
    """The language in `?language=`, else English."""
    language = request.GET.get("language", "")
    return language if language in LANGUAGES else DEFAULT_LANGUAGE


@signed_in_page
def learn(request: HttpRequest) -> HttpResponse:
    """The lessons that contain every word of `?q=`; all lessons without it."""
    language = asked_language(request)
    query = request.GET.get("q", "").replace("\x00", " ")[:QUERY_CHARACTERS_MAX].strip()
    found, programs = matching(current_lessons(language), query), matching(current_programs(), query)
    return render(
        request,
        "portal/learn/learn.html",
        {
            "query": query,
            "lessons": sorted(found.items(), key=lambda item: item[1].title),
            "others": None if query else of_others(),
            "programs": sorted(programs.items(), key=lambda item: item[1].title.casefold()),
            "found_count": len(found) + len(programs),
            "language": language,
            "languages": {code: LANGUAGES[code] for code in shown_languages()},
        },
    )


@signed_in_page
def lesson(request: HttpRequest, code: str) -> HttpResponse:
    """The micro-lesson, the explanation, the hint and the links of one published lesson."""
    language = DEFAULT_LANGUAGE if code.startswith(PROGRAM) else asked_language(request)
    finding, content = or_404(_named(code, language), "There is no such lesson.")
    return render(
        request,
        "portal/learn/lesson.html",
        {
            "code": code,
            "finding": finding,
            "lesson": content,
            "explanation": lesson_html(content.explanation),
            "hint": lesson_html(content.hint),
            "language": language,
        },
    )


def _named(code: str, language: str) -> tuple[str, LessonContent] | None:
    """The finding or the program that a lesson is about, and the lesson; None where none is shown."""
    if code.startswith(PROGRAM):
        program = current_programs().get(code)
        return ("Programs", program) if program else None
    found = {known.value: (TITLES[known], content) for known, content in current_lessons(language).items()}
    return found.get(code)
