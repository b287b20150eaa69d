"""Tables of jobs that still run: what was measured of them so far, and the early words about them."""

from django.db import models

from jobs.models import Project, ShownText, User


class RunningRun(models.Model):
    """A running job of which something was measured.

    `left_at` is when the queue no longer listed the job as running, null while it does. The row then stays for a day,
    or until the record of the ended job exists: links to the job's page lead to what is known.

    No history reads it. `new_revision` is that of the newest measurements, `revision` of those that `figures`
    (`analysis.early.figures.RunningFigures`) and the words rest on: where they differ the run is due.
    `gpu_hours_per_hour` is the price of an hour of it, null where the site has none in GPU-hours.
    """

    cluster = models.CharField(max_length=64)
    job_id = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=0)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    started_at = models.DateTimeField()
    new_revision = models.BigIntegerField()
    revision = models.BigIntegerField(default=0)
    rules_version = models.CharField(max_length=32, blank=True)
    looked_at = models.DateTimeField(null=True)
    gpu_hours_per_hour = models.FloatField(null=True)
    figures = models.JSONField(default=dict)
    left_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "job_id", "attempt"], name="running_run_once")]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.job_id}"


class EarlyWord(models.Model):
    """One finding about a job while it ran, once a run; it stays after the job has ended, as long as records of jobs.

    `found_at` is when it was determined first and `held_at` last; `over_at` when a later look no longer confirmed it,
    null while it holds. `ends_at` is when the time limit ends the job, null without one.
    """

    cluster = models.CharField(max_length=64)
    job_id = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=0)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="early_words")
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    job_name = ShownText(max_length=256, blank=True)
    code = models.CharField(max_length=32)
    confidence = models.FloatField()
    is_fact = models.BooleanField()
    evidence = models.JSONField()
    is_interactive = models.BooleanField()
    gpus = models.PositiveIntegerField(null=True)
    started_at = models.DateTimeField()
    ends_at = models.DateTimeField(null=True)
    gpu_hours_per_hour = models.FloatField(null=True)
    found_at = models.DateTimeField()
    held_at = models.DateTimeField()
    over_at = models.DateTimeField(null=True)
    rules_version = models.CharField(max_length=32)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "job_id", "attempt", "code"], name="early_word_once")]
        indexes = [
            models.Index(fields=["found_at"], name="early_word_by_time"),
            models.Index(fields=["user", "-found_at"], name="early_word_by_user"),
        ]

    def __str__(self) -> str:
        return f"{self.code} of {self.cluster}/{self.job_id}"
