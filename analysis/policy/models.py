"""Table of the policy export: the rows of its months as they were closed."""

from django.db import models

from analysis.months.models import ClosedMonth
from analysis.policy.figures import KINDS
from analysis.site.suppression import Withheld
from jobs.models import User


class PolicyRow(models.Model):
    """One project or user of a month: `figures.FIGURES` as JSON, empty where they are `withheld`.

    Written once: answers before and after somebody left, or data arrived late, do not differ. `key` is the name of a
    project or the key of a user. With an account goes its link to the row; the row stays and refers to nobody.
    """

    month = models.ForeignKey(ClosedMonth, on_delete=models.CASCADE, related_name="rows", db_index=False)
    kind = models.CharField(max_length=8, choices=[(kind, kind) for kind in KINDS])
    key = models.CharField(max_length=64)
    user = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+", db_constraint=False)
    withheld = models.CharField(max_length=16, blank=True, choices=[(why.value, why.value) for why in Withheld])
    figures = models.JSONField(default=dict)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["month", "kind", "key"], name="policy_row_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.key} in {self.month}"
