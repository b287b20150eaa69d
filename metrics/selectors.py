"""Reading measurements: one run as arrays, and the token of a collector."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime

import numpy as np
from django.db.models import Count, F, Q, QuerySet, Sum

from metrics.models import CollectorToken, CpuSummary, GpuSummary, NodeSummary
from metrics.packing import unpack_histogram, unpack_timeline
from metrics.series import NodeTimelines, RunMetrics, align, gpu_columns, host_columns

Key = tuple[str, int, int]

NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
REASON_LENGTH_MAX = 120

NOT_MEASURED_MAX = 50
"""A report lists no more different gaps than a person would read."""

GPU_REPORT_COLUMNS = tuple(
    field.name
    for field in GpuSummary._meta.get_fields()
    if field.name not in {"id", "summary", "timeline_step_s", "timeline_util", "timeline_mem_gb", "histogram_s"}
)


def token_digest(secret: str) -> str:
    """What is stored of a token. A random secret of 256 bits needs no slow hash: there is nothing to guess."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def collector_token(secret: str) -> CollectorToken | None:
    """The token of this secret, None when there is none or it was revoked."""
    return CollectorToken.objects.filter(digest=token_digest(secret), revoked_at=None).first()


def node_summaries(key: Key) -> QuerySet[NodeSummary]:
    """The summaries of one run `(cluster, job_id, attempt)`, by node."""
    cluster, job_id, attempt = key
    return NodeSummary.objects.filter(cluster=cluster, job_id=job_id, attempt=attempt).order_by("node")


def changed_keys(since: datetime) -> Iterable[Key]:
    """Runs whose measurements changed at or after `since`."""
    return NodeSummary.objects.filter(changed_at__gte=since).values_list("cluster", "job_id", "attempt").distinct()


def revisions(job_ids: Sequence[int]) -> dict[Key, tuple[int, int]]:
    """For each measured run of these job ids: its revision, and how many nodes have sent their last word.

    The revision is the sum of (sequence + 1) over the nodes: every new or replaced summary makes it grow, whatever
    the order in which transactions end.
    """
    rows = (
        NodeSummary.objects.filter(job_id__in=job_ids)
        .values("cluster", "job_id", "attempt")
        .annotate(revision=Sum(F("sequence") + 1), final=Count("id", filter=Q(is_final=True)))
    )
    return {(row["cluster"], row["job_id"], row["attempt"]): (row["revision"], row["final"]) for row in rows}


def gpu_rows(key: Key) -> list[dict[str, object]]:
    """One mapping a GPU of the run, by node and GPU: the measured columns, without timelines."""
    rows = GpuSummary.objects.filter(summary__in=node_summaries(key)).order_by("summary__node", "gpu_id")
    return [
        {"job_id": key[1], "node": row.pop("summary__node"), **row}
        for row in rows.values("summary__node", *GPU_REPORT_COLUMNS)
    ]


def run_metrics(key: Key) -> RunMetrics:
    """Everything measured of one run; no nodes at all where nothing arrived."""
    summaries = list(node_summaries(key))
    place = {summary.pk: index for index, summary in enumerate(summaries)}
    gpus = sorted(
        GpuSummary.objects.filter(summary__in=node_summaries(key)),
        key=lambda gpu: (place[gpu.summary_id], gpu.gpu_id),
    )
    hosts = {row["summary_id"]: row for row in CpuSummary.objects.filter(summary__in=node_summaries(key)).values()}
    started = min((summary.started_at for summary in summaries if summary.started_at), default=None)
    return RunMetrics(
        nodes=tuple(summary.node for summary in summaries),
        gpus=gpu_columns(
            [vars(gpu) for gpu in gpus],
            [place[gpu.summary_id] for gpu in gpus],
            np.array([unpack_histogram(gpu.histogram_s) for gpu in gpus]),
        ),
        hosts=host_columns([hosts.get(summary.pk, {}) for summary in summaries]),
        series=align([_timelines(gpu, summaries[place[gpu.summary_id]], started) for gpu in gpus]),
        started_at=started,
        ended_at=max((summary.ended_at for summary in summaries if summary.ended_at), default=None),
        is_final=all(summary.is_final for summary in summaries),
        not_measured=_not_measured(gpus, list(hosts.values())),
        errors=tuple(f"{summary.node}: {text}" for summary in summaries for text in summary.errors),
    )


def _timelines(gpu: GpuSummary, summary: NodeSummary, started: datetime | None) -> NodeTimelines:
    """One GPU's timeline as `(P, 1)` columns, empty where it sent none."""
    util, memory = unpack_timeline(gpu.timeline_util), unpack_timeline(gpu.timeline_mem_gb)
    points = max(util.size, memory.size)
    late = (summary.started_at - started).total_seconds() if summary.started_at and started else 0.0
    return NodeTimelines(
        offset_s=late, step_s=gpu.timeline_step_s or 0.0, util=_padded(util, points), mem_gb=_padded(memory, points)
    )


def _padded(values: np.ndarray, points: int) -> np.ndarray:
    column = np.full((points, 1), np.nan)
    column[: values.size, 0] = values
    return column


def _not_measured(gpus: list[GpuSummary], hosts: list[dict]) -> tuple[str, ...]:
    """Each missing quantity once for each reason given."""
    sources = [gpu.missing for gpu in gpus] + [host["missing"] for host in hosts]
    named = {f"{name}: {reason}" for missing in sources for name, reason in missing.items()}
    return tuple(sorted(named))[:NOT_MEASURED_MAX]


def collector_failures(since: datetime) -> Counter[tuple[str, str]]:
    """How many node summaries since then said that something went wrong, by (cluster, reason); numbers read `N`."""
    summaries = NodeSummary.objects.filter(changed_at__gte=since).exclude(errors=[]).values_list("cluster", "errors")
    said = ((cluster, error) for cluster, errors in summaries.iterator() for error in errors)
    return Counter((cluster, NUMBER.sub("N", error)[:REASON_LENGTH_MAX]) for cluster, error in said)


def summaries_received(since: datetime) -> dict[str, int]:
    """How many node summaries arrived or changed since then, by cluster."""
    rows = NodeSummary.objects.filter(changed_at__gte=since).values("cluster").annotate(count=Count("id"))
    return {row["cluster"]: row["count"] for row in rows}
