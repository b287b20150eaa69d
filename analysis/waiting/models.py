"""Table of runs that left GPUs idle, and of what others waited for meanwhile."""

from django.db import models

from jobs.models import Job, User


class IdleHold(models.Model):
    """A judged run with GPUs that never worked; it goes with the run.

    `idle` and the first columns are copies from the judgement and the run; `{"8": 2}` is two nodes with 8 idle GPUs
    each. `idle_gpu_hours` is their part of the bill. The last columns are as in `rule.Waited`, null until the first
    check. `check_at` is when the next check is due, null while nothing that it would read has changed.
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="idle_hold")
    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False)
    cluster = models.CharField(max_length=64)
    partition = models.CharField(max_length=64)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    idle = models.JSONField()
    idle_gpus = models.PositiveIntegerField()
    idle_gpu_hours = models.FloatField(null=True)
    check_at = models.DateTimeField(null=True)
    checked_at = models.DateTimeField(null=True)
    wanted_gpu_hours = models.FloatField(null=True)
    could_start = models.PositiveIntegerField(null=True)
    is_shown = models.BooleanField(default=False)

    class Meta:
        indexes = [
            models.Index(fields=["check_at"], name="holds_to_check", condition=models.Q(check_at__isnull=False)),
            # Which of them a changed wait belongs to.
            models.Index(fields=["cluster", "partition", "ended_at"], name="holds_by_partition"),
            models.Index(fields=["ended_at"], name="holds_by_end"),
        ]

    def __str__(self) -> str:
        return f"{self.idle_gpus} idle GPUs of {self.job}"
