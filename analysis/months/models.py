"""Table of the months that are closed, of every kind."""

from __future__ import annotations

from typing import Any

from django.db import models


class ClosedMonth(models.Model):
    """What is shown of one calendar month; written once, never changed.

    `kind` is the code of a `kind.MonthKind`, `figures` its figures as JSON. It refers to no person and stays the same
    whoever leaves and whatever data arrive later: two answers about one month cannot be subtracted. `figures` are null
    once they were deleted after their time; the row stays, so that the month is never closed again.
    """

    kind = models.CharField(max_length=16)
    first_day = models.DateField()
    figures: models.JSONField[Any, Any] = models.JSONField(null=True)
    closed_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "first_day"], name="closed_month_once")]

    def __str__(self) -> str:
        return f"{self.first_day:%Y-%m}"
