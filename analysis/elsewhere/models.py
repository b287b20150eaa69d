"""Table of what other sites shared: anonymised rows by month."""

from django.db import models


class ElsewhereMonth(models.Model):
    """The rows of one file of another site that are of one calendar month; a newer file of the month replaces them.

    `groups` are `[values, rows]` with the values in the order of `analysis.anonymous.bands.COLUMNS`. No keys and no
    names of people, projects or jobs are stored.
    """

    class Form(models.TextChoices):
        INSTITUTIONAL = "institutional", "Anonymised rows"
        LEARNING = "learning", "Learning documents"

    site = models.CharField(max_length=64)
    first_day = models.DateField()
    form = models.CharField("format", max_length=16, choices=Form.choices)
    groups = models.JSONField()
    digest = models.CharField(max_length=64)
    imported_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["site", "first_day", "form"], name="elsewhere_once_a_month")]

    def __str__(self) -> str:
        return f"{self.site} {self.first_day:%Y-%m}"
