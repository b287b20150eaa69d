"""Tables of daily roll-ups: what the runs that ended on one day of the site's calendar add up to.

They are copies of what the judgements say (`analysis.rollups.services`). A day whose judgements changed since is in
`RollUpDue`, and readers add up its judgements instead. With a person go that person's rows; the sums of projects stay.
"""

from django.db import models

from analysis.marks.models import Noted
from jobs.models import Project, User

SCALARS = ("jobs", "gpu_hours", "wasted_gpu_hours", "saved_gpu_hours", "measured_gpu_hours", "used_gpu_hours")
"""The sums that the database itself adds up, also stored in `sums`."""


class DaySums(models.Model):
    """`sums` is a packed `analysis.history.run_sums.RunSums`; the columns beside it are parts of it."""

    project = models.ForeignKey(
        Project, on_delete=models.PROTECT, related_name="+", db_index=False, db_constraint=False
    )
    day = models.DateField()
    jobs = models.PositiveIntegerField()
    gpu_hours = models.FloatField()
    wasted_gpu_hours = models.FloatField()
    saved_gpu_hours = models.FloatField()
    measured_gpu_hours = models.FloatField()
    used_gpu_hours = models.FloatField()
    sums = models.BinaryField()

    class Meta:
        abstract = True


class PersonDay(DaySums):
    """One person's runs in one project; apart those that only their owner reported."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    is_told_by_owner = models.BooleanField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "day", "project", "is_told_by_owner"], name="person_day_once")
        ]
        indexes = [
            models.Index(fields=["project", "day", "is_told_by_owner", "user", *SCALARS], name="sums_of_members")
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.project_id} on {self.day}"


class ProjectDay(DaySums):
    """All runs of one project with a record from Slurm."""

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "day"], name="project_day_once")]
        indexes = [models.Index(fields=["day"], name="project_days_by_day")]

    def __str__(self) -> str:
        return f"{self.project_id} on {self.day}"


class WorkDay(DaySums):
    """The runs of one work of one person in one project, empty `work_key`: those that nothing names.

    `latest_job` is the key of the run that ended last.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    work_key = models.CharField(max_length=64, blank=True)
    is_told_by_owner = models.BooleanField()
    latest_job = models.BigIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["user", "work_key", "day", "project", "is_told_by_owner"], name="work_day_once"
            )
        ]
        indexes = [
            models.Index(
                fields=["project", "day", "is_told_by_owner", "user", "work_key", "latest_job", *SCALARS],
                name="sums_of_works",
            )
        ]

    def __str__(self) -> str:
        return f"{self.work_key} of {self.user_id} on {self.day}"


class RollUpDue(Noted):
    """A day of one person in one project whose judgements changed since it was rolled up."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False)
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, related_name="+", db_index=False, db_constraint=False
    )
    day = models.DateField()

    class Meta:
        indexes = [
            models.Index(fields=["user", "day"], name="due_days_by_user"),
            models.Index(fields=["project", "day", "user"], name="due_days_by_project"),
        ]

    def __str__(self) -> str:
        return f"{self.user_id} in {self.project_id} on {self.day}"
