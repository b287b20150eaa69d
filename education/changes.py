"""The differences between two versions of a lesson, for its history."""

import difflib
from dataclasses import dataclass

from education.lesson import LessonContent, names_text, situations_text


@dataclass(frozen=True)
class ChangedLine:
    """One added or removed line."""

    is_added: bool
    text: str


@dataclass(frozen=True)
class Change:
    """One part of a lesson that changed, and its lines."""

    part: str
    lines: tuple[ChangedLine, ...]


def changes(before: LessonContent | None, after: LessonContent) -> tuple[Change, ...]:
    """The parts that differ, in reading order; none for the first version, which has nothing before it.

    >>> [change.part for change in changes(LessonContent("a", "b"), LessonContent("a", "c", is_active=False))]
    ['Micro-lesson', 'Shown']
    """
    if before is None:
        return ()
    old, new = _parts(before), _parts(after)
    return tuple(Change(part, _lines(old[part], new[part])) for part in new if old[part] != new[part])


def _parts(lesson: LessonContent) -> dict[str, str]:
    return {
        "Title": lesson.title,
        "Micro-lesson": lesson.micro,
        "Explanation": lesson.explanation,
        "ROCm and HIP hint": lesson.hint,
        "Names": names_text(lesson.names),
        "For findings": situations_text(lesson.situations),
        "Links": "\n".join(f"{link.title}: {link.url}" for link in lesson.links),
        "Shown": "shown to people" if lesson.is_active else "hidden",
    }


def _lines(before: str, after: str) -> tuple[ChangedLine, ...]:
    compared = difflib.ndiff(before.splitlines(), after.splitlines())
    return tuple(ChangedLine(line[0] == "+", line[2:]) for line in compared if line[0] in "+-")
