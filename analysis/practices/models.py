"""Table of what many works did together, month by month."""

from __future__ import annotations

from django.db import models


class PracticeMonth(models.Model):
    """What is shown of one calendar month, `figures.MonthPractices` as JSON; written once, never changed.

    It refers to no person and stays the same whoever leaves. A kind of practice counts every change of a work in one
    row alone: a month in which its group is too small leaves its works to the next row that has it.
    """

    first_day = models.DateField(unique=True)
    figures = models.JSONField()
    closed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.first_day:%Y-%m}"
