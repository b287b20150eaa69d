"""Table of the figures of the whole site, month by month."""

from __future__ import annotations

from django.db import models


class SiteMonth(models.Model):
    """What is shown of one calendar month of the site, `figures.MonthFigures` as JSON; written once, never changed.

    It refers to no person and stays the same whoever leaves and whatever data arrive later: two answers about one month
    cannot be subtracted.
    """

    first_day = models.DateField(unique=True)
    figures = models.JSONField()
    closed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.first_day:%Y-%m}"
