"""Tables of what became of advice: one row for each recommendation, and the months of the site."""

from django.db import models

from analysis.marks.models import Noted
from analysis.outcomes.following import Status
from jobs.models import Job, Project, User

TO_CPUS = "cpu_work"
"""The basis of advice to leave the GPUs."""


class AdviceOutcome(models.Model):
    """What became of one recommendation on `job`; columns as in `following.Outcome`, of runs that have a work key.

    It goes with the run. `given_at` is when the run was judged first with this kind of advice: its report is made in
    the same pass. `claimed_gpu_hours` is what the report claimed for one run. `first_job` is the key of the first run
    that followed.
    """

    job = models.ForeignKey(Job, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=32)
    basis = models.CharField(max_length=32)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    work_key = models.CharField(max_length=32)
    given_at = models.DateTimeField()
    status = models.CharField(max_length=16, choices=[(each.value, each.name) for each in Status])
    dimensions = models.CharField(max_length=64, blank=True)
    later_runs = models.PositiveIntegerField(default=0)
    following_runs = models.PositiveIntegerField(default=0)
    failed_runs = models.PositiveIntegerField(default=0)
    other_failed_runs = models.PositiveIntegerField(default=0)
    compared_runs = models.PositiveIntegerField(default=0)
    claimed_gpu_hours = models.FloatField(null=True)
    realised_gpu_hours = models.FloatField(null=True)
    first_job = models.BigIntegerField(null=True)
    first_at = models.DateTimeField(null=True)
    util_percent_after = models.FloatField(null=True)
    gpu_hours_after = models.FloatField(null=True)
    run_s_after = models.FloatField(null=True)
    credited_runs = models.PositiveIntegerField(default=0, db_default=0)
    credited_compared_runs = models.PositiveIntegerField(default=0, db_default=0)
    credited_gpu_hours = models.FloatField(default=0.0, db_default=0.0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["job", "kind"], name="outcome_once")]
        indexes = [
            models.Index(fields=["user", "work_key", "given_at"], name="outcomes_by_work"),
            models.Index(fields=["user", "given_at"], name="outcomes_by_user"),
            models.Index(fields=["given_at"], name="outcomes_by_time"),
            models.Index(
                fields=["user", "work_key"],
                name="open_moves_to_cpus",
                condition=models.Q(status="open", basis=TO_CPUS),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} on {self.job_id}: {self.status}"


class AdviceDay(models.Model):
    """What became of the advice of one kind that one person got in one project on one day of the site's calendar.

    Sums of `AdviceOutcome`, which stay when the runs are deleted after their time and go with the person. `answered`
    had a later run; `runs` followed, the first of them ended at `first_at`; the hours are of `compared_runs` alone.
    Over several kinds or days only what is credited may be added up: it counts each run once.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    day = models.DateField()
    kind = models.CharField(max_length=32)
    given = models.PositiveIntegerField()
    answered = models.PositiveIntegerField()
    followed = models.PositiveIntegerField()
    partly = models.PositiveIntegerField()
    runs = models.PositiveIntegerField()
    failed_runs = models.PositiveIntegerField()
    compared_runs = models.PositiveIntegerField()
    claimed_gpu_hours = models.FloatField(null=True)
    realised_gpu_hours = models.FloatField(null=True)
    first_at = models.DateTimeField(null=True)
    credited_runs = models.PositiveIntegerField(default=0, db_default=0)
    credited_compared_runs = models.PositiveIntegerField(default=0, db_default=0)
    credited_gpu_hours = models.FloatField(default=0.0, db_default=0.0)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["user", "day", "project", "kind"], name="advice_day_once")]
        indexes = [models.Index(fields=["project", "day"], name="advice_days_by_project")]

    def __str__(self) -> str:
        return f"{self.kind} for {self.user_id} on {self.day}"


class AdviceDue(Noted):
    """A work with a new judgement since its outcomes were determined."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    work_key = models.CharField(max_length=32)

    def __str__(self) -> str:
        return f"{self.work_key} of {self.user_id}"
