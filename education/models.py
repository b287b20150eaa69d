"""Tables of lessons as staff edit them: the current text, its links, and every earlier version."""

from django.conf import settings
from django.db import models

from education.lesson import LANGUAGES, TITLE_CHARACTERS_MAX, URL_CHARACTERS_MAX


class Lesson(models.Model):
    """One lesson in one language; `code` is a finding code, or that of a program; `version` is its newest version.

    `names` has a name in each line and `situations` `CODE: TEXT`, both empty but for programs.
    """

    code = models.CharField(max_length=64)
    language = models.CharField(max_length=8, choices=list(LANGUAGES.items()))
    title = models.CharField(max_length=TITLE_CHARACTERS_MAX)
    micro = models.TextField()
    explanation = models.TextField(blank=True)
    hint = models.TextField(blank=True)
    names = models.TextField(blank=True, default="", db_default="")
    situations = models.TextField(blank=True, default="", db_default="")
    is_active = models.BooleanField()
    version = models.PositiveIntegerField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["code", "language"], name="lesson_once")]
        ordering = ["code", "language"]

    def __str__(self) -> str:
        return f"{self.code} ({self.language})"


class LessonLink(models.Model):
    """One link; `problem` is the result of its last check, empty when it was reached or not checked.

    `broken_since` is the time of the first failed check since it was last reached.
    """

    lesson = models.ForeignKey(Lesson, on_delete=models.CASCADE, related_name="links")
    position = models.PositiveSmallIntegerField()
    title = models.CharField(max_length=TITLE_CHARACTERS_MAX)
    url = models.CharField(max_length=URL_CHARACTERS_MAX)
    checked_at = models.DateTimeField(null=True)
    problem = models.CharField(max_length=200, blank=True)
    broken_since = models.DateTimeField(null=True)

    class Meta:
        ordering = ["position"]

    def __str__(self) -> str:
        return self.url


class LessonVersion(models.Model):
    """One version of a lesson, from one change to the next: `content` is `education.lesson.LessonContent` as JSON.

    `is_shipped` versions came with Kaiku; the others were written by `editor`, who may have left since.
    """

    lesson = models.ForeignKey(Lesson, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    content = models.JSONField()
    is_shipped = models.BooleanField()
    editor = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    saved_at = models.DateTimeField()
    restored_from = models.PositiveIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["lesson", "number"], name="lesson_version_once")]
        ordering = ["-number"]

    def __str__(self) -> str:
        return f"{self.lesson}, version {self.number}"


class LinkCheck(models.Model):
    """A request to check all links: a row waits until a worker begins, and ends with the check."""

    asked_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"requested at {self.asked_at:%Y-%m-%d %H:%M}"
