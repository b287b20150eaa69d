"""Table of the ranges of wait estimates, from the last backtest."""

from django.db import models


class WaitRange(models.Model):
    """How far estimates of waits are off in one partition; with an empty `partition` in the whole cluster.

    The columns are those of `ranges.Band` and `ranges.Held`. They are of at least 30 submissions and refer to nobody.
    """

    cluster = models.CharField(max_length=64)
    partition = models.CharField(max_length=64, blank=True)
    low_factor = models.FloatField()
    high_factor = models.FloatField()
    error_submissions = models.PositiveIntegerField()
    coverage = models.FloatField()
    factor_off = models.FloatField()
    submissions = models.PositiveIntegerField()
    jobs = models.PositiveIntegerField()
    made_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "partition"], name="wait_range_once")]

    def __str__(self) -> str:
        return f"waits of {self.cluster}" + (f"/{self.partition}" if self.partition else "")
