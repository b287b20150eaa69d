"""Table of the pipelines: works of one person in one project that regularly follow one another."""

from django.db import models

from jobs.models import Project, User


class WorkPipeline(models.Model):
    """Columns as in `pipelines.Pipeline`; `latest` are the keys of the latest run of each work, in their order.

    Determined again, as a whole, whenever a work of the person has a new judgement.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+", db_constraint=False)
    project = models.ForeignKey(Project, on_delete=models.PROTECT, related_name="+", db_constraint=False)
    work_keys = models.JSONField()
    latest = models.JSONField()
    passes = models.PositiveIntegerField()
    runs = models.PositiveIntegerField()
    gpu_hours = models.FloatField()
    wasted_gpu_hours = models.FloatField()
    latest_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"{len(self.work_keys)} works of {self.user_id} in {self.project_id}"
