"""The table of advisory flags: one row from the day it was raised; a cleared one stays as its history."""

import msgspec
from django.db import models
from django.db.models import Q

from analysis.escalation.rules import Evidence, Reason
from jobs.models import Project, User


class Flag(models.Model):
    """A flag of a person (`user`), of a project (`project`), or of one work (`user`, `project`, `work_key`).

    `evidence` is `analysis.escalation.rules.Evidence` when it was raised, `latest` when it was last checked; the two
    sums beside them are of `latest`, for sorting. Staff see it from `visible_to_staff_at` on. The flags of a person
    are deleted with the account.
    """

    class Kind(models.TextChoices):
        USER = "user", "Person"
        PROJECT = "project", "Project"
        WORK = "work", "Work"

    kind = models.CharField(max_length=8, choices=Kind.choices)
    user = models.ForeignKey(
        User, on_delete=models.CASCADE, null=True, related_name="+", db_index=False, db_constraint=False
    )
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, related_name="+", db_index=False, db_constraint=False
    )
    work_key = models.CharField(max_length=64, blank=True)
    raised_at = models.DateTimeField()
    visible_to_staff_at = models.DateTimeField()
    cleared_at = models.DateTimeField(null=True)
    cleared_by = models.CharField(max_length=16, blank=True, choices=[(name.value, name.value) for name in Reason])
    rules_version = models.CharField(max_length=32)
    evidence = models.JSONField()
    latest = models.JSONField()
    unused_gpu_hours = models.FloatField()
    saved_gpu_hours = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=fields, condition=Q(kind=kind, cleared_at__isnull=True), name=f"open_flag_once_of_{kind}"
            )
            for kind, fields in (
                ("user", ["user"]),
                ("project", ["project"]),
                ("work", ["user", "project", "work_key"]),
            )
        ]
        indexes = [
            models.Index(fields=["user", "kind", "-raised_at"], name="flags_by_user"),
            models.Index(fields=["project", "kind", "-raised_at"], name="flags_by_project"),
            models.Index(fields=["cleared_at"], name="flags_by_clearing"),
        ]

    def __str__(self) -> str:
        return f"flag {self.pk} ({self.kind})"

    @property
    def at_raising(self) -> Evidence:
        """What it rested on when it was raised."""
        return msgspec.convert(self.evidence, Evidence)

    @property
    def at_last(self) -> Evidence:
        """The same when it was last checked; of a cleared one when it cleared."""
        return msgspec.convert(self.latest, Evidence)
