"""Tables of the policy export: closed months, and their rows as they were closed."""

from __future__ import annotations

from django.db import models

from analysis.policy.figures import KINDS
from analysis.site.suppression import Withheld
from jobs.models import User


class PolicyMonth(models.Model):
    """One calendar month of the site, closed once; it stays when its rows are deleted, so that it never comes again."""

    first_day = models.DateField(unique=True)
    closed_at = models.DateTimeField()
    has_rows = models.BooleanField(default=True)

    def __str__(self) -> str:
        return f"{self.first_day:%Y-%m}"


class PolicyRow(models.Model):
    """One project or user of a month: `figures.FIGURES` as JSON, empty where they are `withheld`.

    Written once: answers before and after somebody left, or data arrived late, do not differ. `key` is the name of a
    project or the key of a user. With an account goes its link to the row; the row stays and refers to nobody.
    """

    month = models.ForeignKey(PolicyMonth, on_delete=models.CASCADE, related_name="rows", db_index=False)
    kind = models.CharField(max_length=8, choices=[(kind, kind) for kind in KINDS])
    key = models.CharField(max_length=64)
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", db_constraint=False)
    withheld = models.CharField(max_length=16, blank=True, choices=[(why.value, why.value) for why in Withheld])
    figures = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["month", "kind", "key"], name="policy_row_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} in {self.month}"
