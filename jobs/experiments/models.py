"""Tables of experiments and the runs that training scripts log, beside the jobs that they ran in."""

from django.db import models
from django.db.models import Q

from jobs.experiments.limits import ARTIFACT_PATH_LENGTH_MAX, KEY_LENGTH_MAX, NAME_LENGTH_MAX
from jobs.experiments.status import OPEN, Reported, Status
from jobs.shown_text.models import ShownText

RUN_ID_LENGTH = 32


class Experiment(models.Model):
    """Runs that belong together, of one person.

    With a `project` the PI of that project sees it as well, and with `is_shared` every member; GPU figures of its jobs
    stay with those who see the jobs.
    """

    owner = models.ForeignKey("jobs.User", on_delete=models.CASCADE, related_name="experiments")
    project = models.ForeignKey("jobs.Project", on_delete=models.CASCADE, null=True, related_name="experiments")
    name = ShownText(max_length=NAME_LENGTH_MAX)
    is_shared = models.BooleanField(default=False)
    tags = models.JSONField(default=dict)
    created_at = models.DateTimeField()
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "name"], name="experiment_once"),
            models.CheckConstraint(
                condition=Q(is_shared=False) | Q(project__isnull=False), name="shared_experiment_has_project"
            ),
        ]
        indexes = [models.Index(fields=["owner", "-changed_at"], name="experiment_of_owner")]

    def __str__(self) -> str:
        return f"experiment {self.pk}"


class ExperimentRun(models.Model):
    """One run that a script logged: what it reported, and what it is with Slurm's word (`jobs.experiments.status`).

    `params` are text by name, as a table shows them; `tags` too. `heard_at` is when the script last reported anything,
    `reported_at` when it reported its status. `points_…` count points that arrived and that are not kept: of names
    beyond the limit, or thinned while the portal had too much to store. `odd_times` had an impossible time and got that
    of their arrival. `event_…` is what a webhook reported of its job. `job_revision` is the revision of the job's
    record that the status was decided with.
    """

    run_id = models.CharField(max_length=RUN_ID_LENGTH, unique=True)
    experiment = models.ForeignKey(Experiment, on_delete=models.CASCADE, related_name="runs")
    # Has an index below that begins with it.
    owner = models.ForeignKey("jobs.User", on_delete=models.CASCADE, related_name="+", db_index=False)
    name = ShownText(max_length=NAME_LENGTH_MAX, blank=True)
    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="children")
    seed = ShownText(max_length=64, blank=True)
    params = models.JSONField(default=dict)
    tags = models.JSONField(default=dict)
    reported = models.CharField(max_length=16, choices=[(word.value, word.value) for word in Reported])
    reported_at = models.DateTimeField()
    reported_end_at = models.DateTimeField(null=True)
    status = models.CharField(max_length=16, choices=[(word.value, word.value) for word in Status])
    is_by_slurm = models.BooleanField(default=False)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    created_at = models.DateTimeField()
    heard_at = models.DateTimeField()
    event_state = models.CharField(max_length=64, blank=True)
    event_at = models.DateTimeField(null=True)
    job_revision = models.PositiveIntegerField(null=True)
    points_dropped = models.BigIntegerField(default=0)
    points_thinned = models.BigIntegerField(default=0)
    odd_times = models.BigIntegerField(default=0)

    class Meta:
        indexes = [
            models.Index(fields=["experiment", "-started_at", "-id"], name="run_of_experiment"),
            models.Index(fields=["owner", "-started_at", "-id"], name="run_of_owner"),
            models.Index(
                fields=["heard_at"], condition=Q(status__in=sorted(word.value for word in OPEN)), name="run_is_open"
            ),
            models.Index(fields=["started_at"], name="run_by_start"),
        ]

    def __str__(self) -> str:
        return f"run {self.run_id}"


class RunJob(models.Model):
    """A Slurm job that a script stated for its run, and the attempt that it turned out to be, once that is recorded.

    Only a job of the run's owner is ever linked. A run that was resumed has a row for each job, the latest last.
    `cluster` is empty where the script did not state one. While a job has left the queue without a record, accounting
    was asked for it `asked_count` times, and is asked again at `ask_at`; null before the first time.
    """

    run = models.ForeignKey(ExperimentRun, on_delete=models.CASCADE, related_name="run_jobs")
    cluster = models.CharField(max_length=64, blank=True)
    job_id = models.BigIntegerField()
    linked_job = models.ForeignKey("jobs.Job", on_delete=models.SET_NULL, null=True, related_name="run_jobs")
    stated_at = models.DateTimeField()
    asked_count = models.PositiveSmallIntegerField(default=0, db_default=0)
    ask_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "cluster", "job_id", "linked_job"], name="run_job_once")]
        indexes = [models.Index(fields=["job_id"], name="run_by_job_number")]

    def __str__(self) -> str:
        return f"{self.run} in {self.cluster}/{self.job_id}"


class PointBatch(models.Model):
    """The points of one call, stored when the call is answered; a sweep sorts them into their series."""

    run = models.ForeignKey(ExperimentRun, on_delete=models.CASCADE, related_name="+")
    points = models.BinaryField()
    count = models.PositiveIntegerField()
    received_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{self.count} points of {self.run}"


class MetricSeries(models.Model):
    """One metric of one run: the kept points packed, and what is exact of all of them (`jobs.experiments.points`).

    `last_value` is null for NaN, which not every database can store.
    """

    run = models.ForeignKey(ExperimentRun, on_delete=models.CASCADE, related_name="series", db_index=False)
    name = models.CharField(max_length=KEY_LENGTH_MAX)
    points = models.BinaryField()
    count = models.BigIntegerField()
    first_step = models.BigIntegerField()
    first_ms = models.BigIntegerField()
    last_step = models.BigIntegerField()
    last_ms = models.BigIntegerField()
    last_value = models.FloatField(null=True)
    least_value = models.FloatField(null=True)
    least_step = models.BigIntegerField(null=True)
    most_value = models.FloatField(null=True)
    most_step = models.BigIntegerField(null=True)
    nan_count = models.BigIntegerField()
    nan_since_step = models.BigIntegerField(null=True)
    nan_since_ms = models.BigIntegerField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "name"], name="series_once")]

    def __str__(self) -> str:
        return f"a metric of {self.run}"


class Artifact(models.Model):
    """A file of a run, by its path on shared storage, as a script stated it; its content is never read.

    What MLflow's clients upload has no such path: small text is kept (`text`), of anything else only that it came.
    """

    class Kind(models.TextChoices):
        CHECKPOINT = "checkpoint", "Checkpoint"
        LOG = "log", "Log"
        FILE = "file", "File"
        KEPT = "kept", "Kept text"
        DISCARDED = "discarded", "Uploaded and not kept"

    run = models.ForeignKey(ExperimentRun, on_delete=models.CASCADE, related_name="artifacts", db_index=False)
    path = ShownText(max_length=ARTIFACT_PATH_LENGTH_MAX)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    step = models.BigIntegerField(null=True)
    size_bytes = models.BigIntegerField(null=True)
    text = models.BinaryField(null=True)
    stated_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["run", "path"], name="artifact_once")]

    def __str__(self) -> str:
        return f"a file of {self.run}"
