"""Learn: every lesson that is shown, and a search among them."""

from __future__ import annotations

from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from education.lesson import DEFAULT_LANGUAGE, LANGUAGES, matching
from education.selectors import current_lessons, shown_languages

QUERY_CHARACTERS_MAX = 200


def asked_language(request: HttpRequest) -> str:
    """The language that `?language=` names, else English."""
    language = request.GET.get("language", "")
    return language if language in LANGUAGES else DEFAULT_LANGUAGE


@require_GET
@login_required
def learn(request: HttpRequest) -> HttpResponse:
    """The lessons that hold every word of `?q=`; all of them without."""
    language = asked_language(request)
    query = request.GET.get("q", "").replace("\x00", " ")[:QUERY_CHARACTERS_MAX].strip()
    found = matching(current_lessons(language), query)
    return render(
        request,
        "portal/learn.html",
        {
            "query": query,
            "lessons": sorted(found.items(), key=lambda item: item[1].title),
            "language": language,
            "languages": {code: LANGUAGES[code] for code in shown_languages()},
        },
    )
