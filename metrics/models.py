"""Tables of what the collectors measured: one summary a node and run, with its GPUs and its host; the recent use of
nodes whose run goes on; and raw windows."""

from django.db import models


class NodeSummary(models.Model):
    """The summary of one node and run; without a foreign key, because it may arrive before the job record.

    `sent_by` is empty for the site's collector, else the account whose own run of the collector measured. Readers of
    a run leave out what other people than its owner sent. `revision_lead` is how far the revision of the row is ahead
    of its sequence: the site's summary replaces an owner's also where its sequence is lower. `figures` and `series` are
    packed (`metrics.packed_node`); `series` is empty when it is no longer stored.
    """

    cluster = models.CharField(max_length=64)
    job_id = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=0)
    node = models.CharField(max_length=64)
    sequence = models.BigIntegerField()
    is_final = models.BooleanField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    interval_s = models.FloatField(null=True)
    collector_version = models.CharField(max_length=32, blank=True)
    errors = models.JSONField(default=list)
    sent_by = models.CharField(max_length=150, blank=True, default="", db_default="")
    revision_lead = models.BigIntegerField(default=0, db_default=0)
    host_peak_gb = models.FloatField(null=True)
    figures = models.BinaryField(default=bytes, db_default=b"")
    series = models.BinaryField(default=bytes, db_default=b"")
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id", "attempt", "node"], name="node_summary_once")
        ]
        indexes = [models.Index(fields=["changed_at"], name="node_summary_by_change")]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.job_id} on {self.node}"


class RunningNode(models.Model):
    """The recent use of one node of a run that goes on, from the site's collector; beside its `NodeSummary`.

    It is replaced by each later summary of the node and deleted with the final one. `ended_at` is until when was
    measured. `figures`, each where measured: `power_w`, the mean over `recent_s` of each GPU by its number;
    `busy_cores` over `recent_s`; `memory_gb` from the start in buckets of `memory_step_s`, without cached files.
    """

    cluster = models.CharField(max_length=64)
    job_id = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=0)
    node = models.CharField(max_length=64)
    sequence = models.BigIntegerField()
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    received_at = models.DateTimeField()
    recent_s = models.FloatField(null=True)
    figures = models.JSONField(default=dict)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id", "attempt", "node"], name="running_node_once")
        ]
        indexes = [models.Index(fields=["received_at"], name="running_node_by_arrival")]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.job_id} on {self.node}, which goes on"


class RawWindow(models.Model):
    """The raw samples of one node of a run, for some days: columns as in `metrics.raw_samples`, samples packed.

    `size_bytes` is that of the packed columns: the total is summed from the index, without reading them.
    """

    cluster = models.CharField(max_length=64)
    job_id = models.BigIntegerField()
    attempt = models.PositiveIntegerField(default=0)
    node = models.CharField(max_length=64)
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField()
    interval_s = models.FloatField(null=True)
    collector_version = models.CharField(max_length=32, blank=True)
    gpu_ids = models.JSONField()
    at_s = models.BinaryField()
    util = models.BinaryField()
    mem_gb = models.BinaryField()
    size_bytes = models.PositiveIntegerField()
    received_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["cluster", "job_id", "attempt", "node"], name="raw_window_once")]
        indexes = [models.Index(fields=["received_at", "size_bytes"], name="raw_window_by_arrival")]

    def __str__(self) -> str:
        return f"Raw samples of {self.cluster}/{self.job_id} on {self.node}"
