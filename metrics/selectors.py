"""Reading measurements: one run as arrays, and the token of a collector."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby

import numpy as np
from django.db.models import Count, F, Max, Q, QuerySet, Sum

from metrics.models import CollectorToken, CpuSummary, GpuSummary, NodeSummary
from metrics.packing import unpack_histograms, unpack_timelines
from metrics.series import (
    GPU_FLOAT_COLUMNS,
    NodeTimelines,
    RunMetrics,
    align,
    gpu_columns,
    host_columns,
    whole_buckets_s,
)

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

TIMELINE_COLUMNS = ("timeline_step_s", "timeline_util", "timeline_mem_gb")
NUMBER_COLUMNS = ("gpu_id", *GPU_FLOAT_COLUMNS)
FIRST_NUMBER = 2 + len(TIMELINE_COLUMNS)
CHUNK = 512
"""GPUs that are unpacked at once: enough to be quick, few enough that their copies weigh little."""


HOST_REPORT_COLUMNS = (
    *("cores_allocated", "busy_cores_avg", "ranks", "threads_per_rank", "peak_memory_gb", "memory_limit_gb"),
    *("iowait_fraction", "oom_kills"),
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


def host_peaks_gb(cluster: str, job_ids: Sequence[int]) -> dict[Key, float]:
    """Host memory of the fullest node of each of these runs, in 2^30 bytes; a run where none was measured is absent."""
    rows = (
        CpuSummary.objects.filter(summary__cluster=cluster, summary__job_id__in=job_ids, peak_memory_gb__isnull=False)
        .values_list("summary__job_id", "summary__attempt")
        .annotate(peak_gb=Max("peak_memory_gb"))
    )
    return {(cluster, job_id, attempt): peak_gb for job_id, attempt, peak_gb in rows}


def gpu_rows(key: Key, limit: int | None = None) -> list[dict[str, object]]:
    """One mapping a GPU of the run, by node and GPU: the measured columns, without timelines; the first `limit`."""
    rows = GpuSummary.objects.filter(summary__in=node_summaries(key)).order_by("summary__node", "gpu_id")
    return [
        {"job_id": key[1], "node": row.pop("summary__node"), **row}
        for row in rows.values("summary__node", *GPU_REPORT_COLUMNS)[:limit]
    ]


def host_rows(key: Key, limit: int) -> list[dict[str, object]]:
    """One mapping a node of the run, by name: the host side as measured; the first `limit`."""
    rows = CpuSummary.objects.filter(summary__in=node_summaries(key)).order_by("summary__node")
    return list(rows.values("summary__node", *HOST_REPORT_COLUMNS)[:limit])


def run_metrics(key: Key) -> RunMetrics:
    """Everything measured of one run; no nodes at all where nothing arrived.

    Rows are read as tuples and unpacked together: a run on all of LUMI-G has 23,824 of them.
    """
    summaries = list(node_summaries(key))
    place = {summary.pk: index for index, summary in enumerate(summaries)}
    rows = list(
        GpuSummary.objects.filter(summary__in=node_summaries(key))
        .order_by("summary__node", "gpu_id")
        .values_list("summary_id", "histogram_s", *TIMELINE_COLUMNS, *NUMBER_COLUMNS)
    )
    missing = GpuSummary.objects.filter(summary__in=node_summaries(key)).values_list("missing", flat=True).distinct()
    hosts = {row["summary_id"]: row for row in CpuSummary.objects.filter(summary__in=node_summaries(key)).values()}
    started = min((summary.started_at for summary in summaries if summary.started_at), default=None)
    return RunMetrics(
        nodes=tuple(summary.node for summary in summaries),
        gpus=gpu_columns(
            [row[FIRST_NUMBER:] for row in rows],
            NUMBER_COLUMNS,
            [place[row[0]] for row in rows],
            unpack_histograms([row[1] for row in rows]),
        ),
        hosts=host_columns([hosts.get(summary.pk, {}) for summary in summaries]),
        series=align(_timelines(rows, {summary.pk: _late_s(summary, started) for summary in summaries})),
        started_at=started,
        ended_at=max((summary.ended_at for summary in summaries if summary.ended_at), default=None),
        is_final=all(summary.is_final for summary in summaries),
        not_measured=_not_measured([*missing, *(host["missing"] for host in hosts.values())]),
        errors=tuple(f"{summary.node}: {text}" for summary in summaries for text in summary.errors),
    )


def _late_s(summary: NodeSummary, started: datetime | None) -> float:
    """How long after the first node this one began; 0 where that is not told."""
    return (summary.started_at - started).total_seconds() if summary.started_at and started else 0.0


def _timelines(rows: list[tuple], late_s: Mapping[int, float]) -> list[NodeTimelines]:
    """The timelines of neighbouring GPUs with the same buckets as columns together, empty where they sent none."""
    is_one_step = len({row[2] for row in rows if row[2]}) == 1

    def place(numbered: tuple[int, tuple]) -> tuple[float, float, int]:
        index, (summary_id, _, step_s, *_rest) = numbered
        offset_s = late_s[summary_id]
        return whole_buckets_s(offset_s, step_s) if is_one_step and step_s else offset_s, step_s or 0.0, index // CHUNK

    return [
        _together([row for _, row in alike], offset_s, step_s)
        for (offset_s, step_s, _), alike in groupby(enumerate(rows), key=place)
    ]


def _together(rows: list[tuple], offset_s: float, step_s: float) -> NodeTimelines:
    util, memory = unpack_timelines([row[3] for row in rows]), unpack_timelines([row[4] for row in rows])
    points = max(len(util), len(memory))
    return NodeTimelines(offset_s, step_s, util=_padded(util, points), mem_gb=_padded(memory, points))


def _padded(values: np.ndarray, points: int) -> np.ndarray:
    """The columns with gaps below, `points` long."""
    if len(values) == points:
        return values
    return np.vstack([values, np.full((points - len(values), values.shape[1]), np.nan)])


def _not_measured(sources: Iterable[Mapping[str, str]]) -> tuple[str, ...]:
    """Each missing quantity once for each reason given."""
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
