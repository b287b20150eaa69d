"""Table of the filters of the Jobs page that people keep under a name."""

from django.db import models

from jobs.shown_text.models import ShownText

FILTER_NAME_LENGTH_MAX, FILTER_ADDRESS_LENGTH_MAX = 60, 8000
"""Every choice at its longest, each character of it as up to twelve, fits."""


class SavedFilter(models.Model):
    """What one person looks for again and again; `address` is the part of the page's address behind the "?".

    It holds choices, not jobs: what it shows is what the person may see at the moment of opening it.
    """

    user = models.ForeignKey("jobs.User", on_delete=models.CASCADE, related_name="saved_filters")
    name = ShownText(max_length=FILTER_NAME_LENGTH_MAX)
    address = models.CharField(max_length=FILTER_ADDRESS_LENGTH_MAX)
    saved_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "name"], name="saved_filter_once")]

    def __str__(self) -> str:
        return f"{self.name} of {self.user}"
