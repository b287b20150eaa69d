"""The table of comments for Slurm's accounting: of runs whose owners opted in, so a small one."""

from django.db import models

from jobs.models import Job


class SlurmComment(models.Model):
    """The comment of a judged run; it goes with the run, and when its owner opts out.

    `position` orders comments for their reader, null until the first reading after a change.
    """

    job = models.OneToOneField(Job, on_delete=models.CASCADE, primary_key=True, related_name="slurm_comment")
    cluster = models.CharField(max_length=64)
    text = models.CharField(max_length=64)
    position = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["cluster", "position"],
                name="comments_in_order",
                condition=models.Q(position__isnull=False),
            ),
            models.Index(fields=["cluster", "job"], name="comments_to_number", condition=models.Q(position=None)),
        ]

    def __str__(self) -> str:
        return f"{self.job}: {self.text}"
