"""Storing the lessons that come with Kaiku; lessons that staff changed stay as they are."""

from collections import Counter
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from education.lesson import DEFAULT_LANGUAGE, LessonContent
from education.models import Lesson
from education.seeds import seed_lessons, seed_programs
from education.selectors import lesson_content
from education.services.editing import create_lesson, write_version


@dataclass(frozen=True)
class Seeding:
    """How many lessons are new, how many changed with this release, and how many belong to staff.

    `changed` are the codes of the first two.
    """

    created: int
    updated: int
    kept: int
    changed: tuple[str, ...] = ()


def store_seeds() -> Seeding:
    """Store every lesson that is new or that no staff member ever changed; safe to repeat."""
    seeds = {code.value: content for code, content in seed_lessons().items()} | dict(seed_programs())
    outcomes = {code: _store(code, content, timezone.now()) for code, content in seeds.items()}
    changed = tuple(code for code, outcome in outcomes.items() if outcome in ("created", "updated"))
    count = Counter(outcomes.values())
    return Seeding(count["created"], count["updated"], count["kept"], changed)


def _store(code: str, content: LessonContent, now: datetime) -> str:
    if create_lesson(code, DEFAULT_LANGUAGE, content, now):
        return "created"
    with transaction.atomic():
        lesson = Lesson.objects.select_for_update().get(code=code, language=DEFAULT_LANGUAGE)
        if lesson.versions.filter(is_shipped=False).exists():
            return "kept"
        if lesson_content(lesson) == content:
            return "same"
        write_version(lesson, content, now)
    return "updated"
