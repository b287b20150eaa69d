"""Tables of what the collectors measured: one summary a node and run, its GPUs, its host side."""

from __future__ import annotations

from django.db import models


class PackedField(models.Field):
    """Bytes that may be part of PostgreSQL's `INSERT … SELECT unnest(…)`.

    Django's BinaryField has a `get_placeholder`, for which `bulk_create` falls back to one placeholder a value
    (django/db/backends/postgresql/compiler.py, 5.2).
    """

    def get_internal_type(self) -> str:
        return "BinaryField"

    def deconstruct(self):
        """A migration sees the plain column that this is in the database."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.BinaryField", args, kwargs

    def get_db_prep_value(self, value, connection, prepared: bool = False):
        value = super().get_db_prep_value(value, connection, prepared)
        return None if value is None else connection.Database.Binary(value)


class CollectorToken(models.Model):
    """What a collector shows to be let in; only the SHA-256 of the secret is kept, and it speaks for one cluster."""

    name = models.CharField(max_length=64, unique=True)
    cluster = models.CharField(max_length=64)
    digest = models.CharField(max_length=64, unique=True)
    created_at = models.DateTimeField(auto_now_add=True)
    revoked_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"{self.name} ({self.cluster})"


class NodeSummary(models.Model):
    """What one node said of one run; keyed without a foreign key, for it may come before the job record."""

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
    changed_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["cluster", "job_id", "attempt", "node"], name="node_summary_once")
        ]
        indexes = [models.Index(fields=["changed_at"], name="node_summary_by_change")]

    def __str__(self) -> str:
        return f"{self.cluster}/{self.job_id} on {self.node}"


class GpuSummary(models.Model):
    """One GPU of a node summary; columns as in `metrics.payloads.GpuPayload`, timeline and histogram packed."""

    summary = models.ForeignKey(NodeSummary, on_delete=models.CASCADE, related_name="gpus")
    gpu_id = models.PositiveIntegerField()
    module_id = models.PositiveIntegerField(null=True)
    pci_bus = models.CharField(max_length=16, blank=True)
    avg_util = models.FloatField(null=True)
    p95_util = models.FloatField(null=True)
    peak_mem_gb = models.FloatField(null=True)
    avg_mem_gb = models.FloatField(null=True)
    mem_total_gb = models.FloatField(null=True)
    samples = models.BigIntegerField(null=True)
    measured_s = models.FloatField(null=True)
    active_s = models.FloatField(null=True)
    idle_s = models.FloatField(null=True)
    gfx_clock_mhz = models.FloatField(null=True)
    mem_clock_mhz = models.FloatField(null=True)
    power_avg_w = models.FloatField(null=True)
    power_peak_w = models.FloatField(null=True)
    power_cap_w = models.FloatField(null=True)
    energy_j = models.FloatField(null=True)
    temperature_peak_c = models.FloatField(null=True)
    pcie_bandwidth_mb_s = models.FloatField(null=True)
    throttled_s = models.FloatField(null=True)
    missing = models.JSONField(default=dict)
    timeline_step_s = models.FloatField(null=True)
    timeline_util = PackedField(default=bytes)
    timeline_mem_gb = PackedField(default=bytes)
    histogram_s = PackedField(default=bytes)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["summary", "gpu_id"], name="gpu_summary_once")]

    def __str__(self) -> str:
        return f"GPU {self.gpu_id}"


class CpuSummary(models.Model):
    """The host side of a node summary; columns as in `metrics.payloads.CpuPayload`."""

    summary = models.OneToOneField(NodeSummary, on_delete=models.CASCADE, related_name="cpu")
    cores_allocated = models.PositiveIntegerField(null=True)
    busy_cores_avg = models.FloatField(null=True)
    user_fraction = models.FloatField(null=True)
    system_fraction = models.FloatField(null=True)
    iowait_fraction = models.FloatField(null=True)
    idle_fraction = models.FloatField(null=True)
    ranks = models.PositiveIntegerField(null=True)
    threads_per_rank = models.FloatField(null=True)
    peak_memory_gb = models.FloatField(null=True)
    # Without files' cached pages, which the kernel gives back when it has to; the highest of the readings.
    peak_memory_anon_gb = models.FloatField(null=True)
    memory_limit_gb = models.FloatField(null=True)
    oom_kills = models.PositiveIntegerField(null=True)
    pressure_cpu_s = models.FloatField(null=True)
    pressure_memory_s = models.FloatField(null=True)
    pressure_io_s = models.FloatField(null=True)
    missing = models.JSONField(default=dict)

    def __str__(self) -> str:
        return f"Host of {self.summary}"
