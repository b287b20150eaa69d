"""Reading lessons: their current and their earlier versions."""

from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

import msgspec
from django.db.models import Count, Q, QuerySet

from education.lesson import DEFAULT_LANGUAGE, PROGRAM, LessonContent, Lessons, Link, Programs, names_of, situations_of
from education.models import Lesson, LessonLink, LessonVersion, LinkCheck
from education.seeds import seed_lessons, seed_programs

SAME_NAMES = ("title", "micro", "explanation", "hint", "is_active")
"""What a row has as a lesson has it."""


def current_lessons(language: str = DEFAULT_LANGUAGE) -> Lessons:
    """The current lesson of each finding code, in this language or else in English.

    A code without a row yet has the lesson that comes with Kaiku; a code whose lesson is hidden has none.
    """
    rows = Lesson.objects.filter(language__in={DEFAULT_LANGUAGE, language}).prefetch_related("links")
    stored = {(row.code, row.language): row for row in rows}
    lessons = {}
    for code, shipped in seed_lessons().items():
        found = [stored[key] for key in ((code.value, language), (code.value, DEFAULT_LANGUAGE)) if key in stored]
        shown = [row for row in found if row.is_active]
        if shown or not found:
            lessons[code] = lesson_content(shown[0]) if shown else shipped
    return lessons


def current_programs() -> Programs:
    """The shown lessons about programs by code: those of staff, and those that come with Kaiku and have no row yet."""
    rows = Lesson.objects.filter(language=DEFAULT_LANGUAGE, code__startswith=PROGRAM).prefetch_related("links")
    stored = {row.code: row for row in rows}
    shipped = {code: content for code, content in seed_programs().items() if code not in stored}
    shown = {code: lesson_content(row) for code, row in stored.items() if row.is_active}
    return dict(sorted((shipped | shown).items()))


def lesson_content(row: Lesson) -> LessonContent:
    """The current content of a row, its links in order."""
    return LessonContent(
        **{name: getattr(row, name) for name in SAME_NAMES},
        links=tuple(Link(link.title, link.url) for link in row.links.all()),
        names=names_of(row.names),
        situations=situations_of(row.situations),
    )


def version_content(version: LessonVersion) -> LessonContent:
    """The content of an earlier version."""
    return msgspec.convert(version.content, LessonContent)


def lessons_for_staff() -> QuerySet[Lesson, Any]:
    """Every lesson with its links; `dead_links` counts those that were not reached."""
    dead = Count("links", filter=~Q(links__problem=""))
    return Lesson.objects.annotate(dead_links=dead).prefetch_related("links").order_by("code", "language")


@dataclass(frozen=True)
class CheckedLink:
    """One address that lessons link to, and the result of its last check."""

    url: str
    lessons: tuple[Lesson, ...]
    checked_at: datetime | None
    problem: str
    broken_since: datetime | None


def checked_links() -> list[CheckedLink]:
    """Every address of the lessons once, those that were not reached first, the longest broken on top."""
    rows = LessonLink.objects.select_related("lesson").order_by("url", "lesson__code", "lesson__language")
    found = []
    for url, same in groupby(rows, key=lambda row: row.url):
        links = list(same)
        latest = max(links, key=lambda link: (link.checked_at is not None, link.checked_at))
        lessons = tuple(link.lesson for link in links)
        found.append(CheckedLink(url, lessons, latest.checked_at, latest.problem, latest.broken_since))
    never = datetime.max.replace(tzinfo=UTC)
    return sorted(found, key=lambda link: (not link.problem, link.broken_since or never, link.url))


def open_check() -> LinkCheck | None:
    """The requested check that has not ended."""
    return LinkCheck.objects.filter(ended_at=None).order_by("asked_at").first()


def broken_link_count() -> int:
    """How many addresses the last check did not reach."""
    return LessonLink.objects.exclude(problem="").values("url").distinct().count()


def lesson_row(code: str, language: str) -> Lesson | None:
    """One lesson; None when there is none of this code and language."""
    return Lesson.objects.filter(code=code, language=language).first()


def lesson_versions(row: Lesson) -> QuerySet[LessonVersion]:
    """Every version of a lesson with its editor, the newest first."""
    return row.versions.select_related("editor").order_by("-number")


def shown_languages() -> list[str]:
    """The languages that any shown lesson is written in, English always among them."""
    found = Lesson.objects.filter(is_active=True).values_list("language", flat=True).distinct()
    return sorted({DEFAULT_LANGUAGE, *found})


def newest_version(row: Lesson) -> LessonVersion:
    """The current version with its editor."""
    return row.versions.select_related("editor").get(number=row.version)
