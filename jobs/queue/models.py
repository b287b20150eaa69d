"""The table of jobs that are in Slurm's queue or running now, as `squeue` listed them last."""

from django.db import models

from jobs.shown_text.models import ShownText

ERROR_LENGTH_MAX = 200


class QueuedJob(models.Model):
    """One pending or running job; `task_count` is how many tasks of an array are still pending under this number.

    A suspended job is a running one (`is_suspended`).
    Null where `squeue` states nothing. Rows are replaced by each reading of the queue, and are no part of any history.
    """

    class State(models.TextChoices):
        PENDING = "PENDING", "pending"
        RUNNING = "RUNNING", "running"

    cluster = models.CharField(max_length=64)
    job_id = models.BigIntegerField()
    array_job_id = models.BigIntegerField(null=True)
    array_task_id = models.BigIntegerField(null=True)
    task_count = models.PositiveIntegerField(default=1)
    user = models.ForeignKey("jobs.User", on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey("jobs.Project", on_delete=models.CASCADE, related_name="+")
    job_name = ShownText(max_length=256, blank=True)
    partition = models.CharField(max_length=64, blank=True)
    qos = models.CharField(max_length=64, blank=True)
    state = models.CharField(max_length=16, choices=State.choices)
    is_suspended = models.BooleanField(default=False, db_default=False)
    reason = models.CharField(max_length=64, blank=True)
    node_count = models.PositiveIntegerField(null=True)
    gpus = models.PositiveIntegerField(null=True)
    cores = models.PositiveIntegerField(null=True)
    memory_gb = models.FloatField(null=True)
    is_exclusive = models.BooleanField(null=True)
    time_limit_s = models.FloatField(null=True)
    submitted_at = models.DateTimeField(null=True)
    eligible_at = models.DateTimeField(null=True)
    started_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "job_id"], name="queued_job_once")]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.job_id}"


class QueueReading(models.Model):
    """When the queue of a cluster was read last; `error` states why the latest try failed, empty where it did not.

    `left_out` is how many rows of the last reading could not be read.
    """

    cluster = models.CharField(max_length=64, unique=True)
    read_at = models.DateTimeField(null=True)
    tried_at = models.DateTimeField()
    error = models.CharField(max_length=ERROR_LENGTH_MAX, blank=True)
    left_out = models.PositiveIntegerField(default=0, db_default=0)

    def __str__(self) -> str:
        return f"the queue of {self.cluster}"
