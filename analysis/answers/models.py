"""Table of people's answers to "was this right?", month by month."""

from __future__ import annotations

from django.db import models


class AnswerMonth(models.Model):
    """What is shown of the answers of one calendar month, a list of `figures.FindingAnswers` as JSON; never changed.

    Like `analysis.site.models.SiteMonth` it refers to no person and stays the same whoever answers again or leaves.
    """

    first_day = models.DateField(unique=True)
    figures = models.JSONField()
    closed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.first_day:%Y-%m}"
