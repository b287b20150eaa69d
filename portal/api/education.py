"""The lessons for programs: open to everyone, because they contain no personal data."""

import msgspec
from rest_framework.exceptions import ValidationError
from rest_framework.request import Request
from rest_framework.response import Response

from education.lesson import DEFAULT_LANGUAGE, LANGUAGES, Lessons, link_table
from education.selectors import current_lessons
from portal.api.answers import LessonAnswer
from portal.api.bases import OpenView
from reports.from_rows import struct_from


class Education(OpenView):
    """`GET /api/v1/education/`: from finding code to lesson; `?language=` requests another language than English."""

    def get(self, request: Request) -> Response:
        return Response(
            {
                code.value: msgspec.to_builtins(struct_from(LessonAnswer, lesson, text=lesson.micro))
                for code, lesson in asked_lessons(request).items()
            }
        )


class EducationLinks(OpenView):
    """`GET /api/v1/education/links/`: the table of the specification, from finding code to address."""

    def get(self, request: Request) -> Response:
        return Response(link_table(asked_lessons(request)))


def asked_lessons(request: Request) -> Lessons:
    """The lessons in the requested language; 400 for a language that no lesson can have."""
    language = request.query_params.get("language", DEFAULT_LANGUAGE)
    if language not in LANGUAGES:
        raise ValidationError(f"A language must be one of {', '.join(LANGUAGES)}.")
    return current_lessons(language)
