"""Writing lessons: each change is a new version, none is lost, and two editors never overwrite each other unnoticed."""

from dataclasses import replace
from datetime import datetime

import msgspec
from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from education.lesson import DEFAULT_LANGUAGE, LessonContent, names_text, situations_text
from education.models import Lesson, LessonLink, LessonVersion
from education.selectors import SAME_NAMES, lesson_content, newest_version, version_content

CHECKED = ("checked_at", "problem", "broken_since")
"""The result of a link check."""


class EditConflict(Exception):
    """Someone saved the lesson since the editor opened it; nothing was stored. `newest` is what they saved."""

    def __init__(self, newest: LessonVersion) -> None:
        super().__init__(f"version {newest.number} was saved in the meantime")
        self.newest = newest


def save_lesson(lesson_pk: int, based_on: int, content: LessonContent, editor: AbstractBaseUser) -> bool:
    """Store what an editor wrote over version `based_on`; False when nothing changed. Raises EditConflict."""
    with transaction.atomic():
        lesson = _claimed(lesson_pk, based_on)
        if lesson_content(lesson) == content:
            return False
        write_version(lesson, content, timezone.now(), editor=editor)
    return True


def restore_version(lesson_pk: int, based_on: int, number: int, editor: AbstractBaseUser) -> bool:
    """Restore version `number` as a new version; False when its content is the current one. Raises EditConflict."""
    with transaction.atomic():
        lesson = _claimed(lesson_pk, based_on)
        content = version_content(lesson.versions.get(number=number))
        if lesson_content(lesson) == content:
            return False
        write_version(lesson, content, timezone.now(), editor=editor, restored_from=number)
    return True


def start_translation(code: str, language: str, editor: AbstractBaseUser) -> bool:
    """Begin a lesson in another language as a hidden copy of the English one; False when it exists already."""
    with transaction.atomic():
        english = Lesson.objects.get(code=code, language=DEFAULT_LANGUAGE)
        hidden = replace(lesson_content(english), is_active=False)
        return create_lesson(code, language, hidden, timezone.now(), editor=editor)


def create_lesson(
    code: str, language: str, content: LessonContent, now: datetime, editor: AbstractBaseUser | None = None
) -> bool:
    """The first version of a lesson; False when there is one of this code and language already."""
    blank = {"title": "", "micro": "", "is_active": False, "version": 0, "changed_at": now}
    with transaction.atomic():
        lesson, is_new = Lesson.objects.get_or_create(code=code, language=language, defaults=blank)
        if is_new:
            write_version(lesson, content, now, editor=editor)
    return is_new


def write_version(
    lesson: Lesson,
    content: LessonContent,
    now: datetime,
    editor: AbstractBaseUser | None = None,
    restored_from: int | None = None,
) -> None:
    """The next version of a lesson whose row is locked; without an editor it is one that came with Kaiku."""
    for name in SAME_NAMES:
        setattr(lesson, name, getattr(content, name))
    lesson.names, lesson.situations = names_text(content.names), situations_text(content.situations)
    lesson.version += 1
    lesson.changed_at = now
    lesson.save()
    _write_links(lesson, content)
    lesson.versions.create(
        number=lesson.version,
        content=msgspec.to_builtins(content),
        is_shipped=editor is None,
        editor=editor,  # type: ignore[misc]  # the one user model, which this package does not import
        saved_at=now,
        restored_from=restored_from,
    )


def _claimed(lesson_pk: int, based_on: int) -> Lesson:
    """The row, locked until the end of the transaction; EditConflict when it is not the version that was opened."""
    lesson = Lesson.objects.select_for_update().get(pk=lesson_pk)
    if lesson.version != based_on:
        raise EditConflict(newest_version(lesson))
    return lesson


def _write_links(lesson: Lesson, content: LessonContent) -> None:
    """The links in order; an address that stays keeps the result of its last check."""
    known = {link.url: {name: getattr(link, name) for name in CHECKED} for link in lesson.links.all()}
    lesson.links.all().delete()
    LessonLink.objects.bulk_create(
        LessonLink(lesson=lesson, position=position, title=link.title, url=link.url, **known.get(link.url, {}))
        for position, link in enumerate(content.links)
    )
