"""Writing measurements and the tokens of those who bring them."""

from __future__ import annotations

import secrets
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from metrics.models import CollectorToken, CpuSummary, GpuSummary, NodeSummary
from metrics.packing import pack_histogram, pack_timeline
from metrics.payloads import CpuPayload, GpuPayload, NodePayload
from metrics.selectors import token_digest

TOKEN_BYTES = 32
PACKED = {"timeline", "util_histogram_s"}
GPU_COLUMNS = tuple(name for name in GpuPayload.__struct_fields__ if name not in PACKED)


def record_node_summary(payload: NodePayload, now: datetime | None = None) -> bool:
    """Store what one node said, whole or not at all; True when it was new.

    A summary replaces one of a lower `sequence`; the same or an older one changes nothing. Django writes the GPUs
    with one `INSERT … SELECT unnest(…)` on PostgreSQL.
    """
    key = {name: getattr(payload, name) for name in ("cluster", "job_id", "attempt", "node")}
    columns = {
        "sequence": payload.sequence,
        "is_final": payload.final,
        "started_at": payload.started_at,
        "ended_at": payload.ended_at,
        "interval_s": payload.interval_s,
        "collector_version": payload.collector_version,
        "errors": list(payload.errors),
        "changed_at": now or timezone.now(),
    }
    with transaction.atomic():
        summary, is_new = NodeSummary.objects.select_for_update().get_or_create(**key, defaults=columns)
        if not is_new and not _replace(summary, columns):
            return False
        GpuSummary.objects.bulk_create(_gpu_row(summary, gpu) for gpu in payload.gpus)
        if payload.cpu is not None:
            CpuSummary.objects.create(summary=summary, **_host_columns(payload.cpu))
    return True


def create_collector_token(name: str, cluster: str) -> str:
    """A new token for collectors of `cluster`; the answer is the only time anyone sees it."""
    secret = secrets.token_urlsafe(TOKEN_BYTES)
    CollectorToken.objects.create(name=name, cluster=cluster, digest=token_digest(secret))
    return secret


def revoke_collector_token(token: CollectorToken, now: datetime) -> None:
    """From now on no collector is let in with it."""
    CollectorToken.objects.filter(pk=token.pk, revoked_at=None).update(revoked_at=now)


def _replace(summary: NodeSummary, columns: dict[str, object]) -> bool:
    """Make room for a later summary of the same node; False when the stored one is as late."""
    if summary.sequence >= columns["sequence"]:
        return False
    for name, value in columns.items():
        setattr(summary, name, value)
    summary.save(update_fields=list(columns))
    summary.gpus.all().delete()
    CpuSummary.objects.filter(summary=summary).delete()
    return True


def _gpu_row(summary: NodeSummary, gpu: GpuPayload) -> GpuSummary:
    columns = {name: getattr(gpu, name) for name in GPU_COLUMNS}
    timeline = gpu.timeline
    return GpuSummary(
        summary=summary,
        **columns | {"pci_bus": gpu.pci_bus or ""},
        timeline_step_s=timeline.step_s if timeline else None,
        timeline_util=pack_timeline(timeline.util) if timeline else b"",
        timeline_mem_gb=pack_timeline(timeline.mem_gb) if timeline else b"",
        histogram_s=pack_histogram(gpu.util_histogram_s),
    )


def _host_columns(cpu: CpuPayload) -> dict[str, object]:
    return {name: getattr(cpu, name) for name in CpuPayload.__struct_fields__}
