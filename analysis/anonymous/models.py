"""Table of the months that were anonymised for other sites."""

from __future__ import annotations

from django.db import models


class AnonymousMonth(models.Model):
    """The anonymised rows of one calendar month, `month.AnonymousFigures` as JSON; written once, never changed.

    Every export of a month is this row, so two exports cannot be subtracted. It refers to no person: the secret of its
    keys was never stored, and it stays the same whoever leaves and whatever data arrive later.
    """

    first_day = models.DateField(unique=True)
    figures = models.JSONField()
    closed_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.first_day:%Y-%m}"
