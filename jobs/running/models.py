"""Tables of the running portal: failed work, counters, and processes."""

from django.db import models


class WorkFailure(models.Model):
    """A piece of background work that is being tried, or that failed: one row each, none once it is done.

    `kind` and `key` name the work, `owner` the process that tries it until `claimed_until`. `error` is the type of the
    last error and where it came from, without its message. `name` is not stored: the readable name of the work,
    where a reader looked it up.
    """

    name = ""

    kind = models.CharField(max_length=32)
    key = models.BigIntegerField()
    owner = models.CharField(max_length=128, blank=True)
    claimed_until = models.DateTimeField(null=True)
    tries = models.PositiveIntegerField(default=0)
    first_at = models.DateTimeField(null=True)
    last_at = models.DateTimeField(null=True)
    next_at = models.DateTimeField(null=True)
    set_aside_at = models.DateTimeField(null=True)
    error = models.CharField(max_length=200, blank=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["kind", "key"], name="work_failure_once")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name or self.key}"


class Tally(models.Model):
    """One counter: what `jobs.tallies.kinds` names, with its labels as a JSON list.

    `first_at` and `last_at` are when it was increased for the first and the last time.
    """

    name = models.CharField(max_length=64)
    labels = models.TextField()
    value = models.FloatField()
    first_at = models.DateTimeField()
    last_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "tallies"
        constraints = [models.UniqueConstraint(fields=["name", "labels"], name="tally_once")]

    def __str__(self) -> str:
        return f"{self.name} {self.labels}"


class Process(models.Model):
    """A running process of this portal, by its machine, number and start; `kind` is its task."""

    class Kind(models.TextChoices):
        WORKER = "worker", "Worker"
        PORTAL = "portal", "Portal"
        INGEST = "ingest", "Ingest"

    name = models.CharField(max_length=128)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    version = models.CharField(max_length=32)
    seen_at = models.DateTimeField()
    waiting_records = models.PositiveIntegerField(null=True)

    class Meta:
        verbose_name_plural = "processes"
        constraints = [models.UniqueConstraint(fields=["name", "kind"], name="process_once")]
        indexes = [models.Index(fields=["kind", "seen_at"], name="process_by_time")]

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"
