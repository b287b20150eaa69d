"""The lessons for programs: open to everyone, because they contain no personal data."""

from __future__ import annotations

from typing import Any

import msgspec
from rest_framework.exceptions import ValidationError
from rest_framework.permissions import AllowAny
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from education.lesson import DEFAULT_LANGUAGE, LANGUAGES, LessonContent, Lessons, link_table
from education.selectors import current_lessons


class Education(APIView):
    """`GET /api/v1/education/`: from finding code to lesson; `?language=` requests another language than English."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        return Response({code.value: _shown(lesson) for code, lesson in asked_lessons(request).items()})


class EducationLinks(APIView):
    """`GET /api/v1/education/links/`: the table of the specification, from finding code to address."""

    authentication_classes = ()
    permission_classes = (AllowAny,)

    def get(self, request: Request) -> Response:
        return Response(link_table(asked_lessons(request)))


def asked_lessons(request: Request) -> Lessons:
    """The lessons in the requested language; 400 for a language that no lesson can have."""
    language = request.query_params.get("language", DEFAULT_LANGUAGE)
    if language not in LANGUAGES:
        raise ValidationError(f"A language must be one of {', '.join(LANGUAGES)}.")
    return current_lessons(language)


def _shown(lesson: LessonContent) -> dict[str, Any]:
    return {
        "title": lesson.title,
        "url": lesson.url,
        "text": lesson.micro,
        "explanation": lesson.explanation,
        "hint": lesson.hint,
        "links": msgspec.to_builtins(lesson.links),
    }
