"""Tables of the automatic export of runs: what waits to be written, and what is being written together."""

from django.db import models

from analysis.marks.models import Noted
from jobs.models import Job


class ExportBatch(models.Model):
    """Runs that are written together; it exists until the target has confirmed all of them.

    Its key and `opened_at` are in the name of what is written, so that a second try writes the same name. `fault` is
    why the target took nothing at the last try (`reports.performance.targets.faults`), empty where it did, and
    `failed_since` when that began.
    """

    opened_at = models.DateTimeField()
    fault = models.CharField(max_length=32, blank=True, default="")
    failed_since = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.pk} of {self.opened_at:%Y-%m-%d %H:%M}"


class ExportDue(Noted):
    """A run with a new judgement, or newly compared with its predictions, that was not written yet.

    A run may be deleted meanwhile.
    """

    job = models.ForeignKey(Job, on_delete=models.DO_NOTHING, related_name="+", db_constraint=False, db_index=False)
    batch = models.ForeignKey(ExportBatch, on_delete=models.CASCADE, null=True, related_name="due")

    def __str__(self) -> str:
        return f"run {self.job_id}"
