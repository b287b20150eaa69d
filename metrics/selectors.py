"""Reading measurements: one run as arrays, and the token of a collector."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

import numpy as np
from django.db.models import Count, F, Max, Q, QuerySet, Sum
from numpy.typing import NDArray

from metrics.models import CollectorToken, CpuSummary, GpuSummary, NodeSummary
from metrics.packing import unpack_histograms, unpack_timelines
from metrics.series import (
    GPU_FLOAT_COLUMNS,
    HOST_COLUMNS,
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
RUN_COLUMNS = ("summary_id", "histogram_s", *TIMELINE_COLUMNS, *NUMBER_COLUMNS)
FIRST_NUMBER = 2 + len(TIMELINE_COLUMNS)
"""Where the numbers of a row of `RUN_COLUMNS` begin, with that of the GPU."""

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

    Rows are read as tuples, put in order without the database, which would move their timelines about, and unpacked
    together: a run on all of LUMI-G has 23,824 of them. GPUs come first, so that the summary of each is seen.
    """
    gpus = GpuSummary.objects.filter(summary__in=node_summaries(key).order_by())
    hosts = CpuSummary.objects.filter(summary__in=node_summaries(key).order_by())
    rows, host_of = list(gpus.values_list(*RUN_COLUMNS)), _by_summary(hosts)
    missing = [*gpus.values_list("missing", flat=True).distinct(), *hosts.values_list("missing", flat=True).distinct()]
    summaries = list(node_summaries(key).values_list("pk", "node", "started_at", "ended_at", "is_final"))
    rows, places = _in_order(rows, {summary[0]: index for index, summary in enumerate(summaries)})
    starts, ends = ([summary[at] for summary in summaries if summary[at]] for at in (2, 3))
    started = min(starts, default=None)
    late_s = np.array([_late_s(summary[2], started) for summary in summaries])
    return RunMetrics(
        nodes=tuple(summary[1] for summary in summaries),
        gpus=gpu_columns(
            [row[FIRST_NUMBER:] for row in rows], NUMBER_COLUMNS, places, unpack_histograms([row[1] for row in rows])
        ),
        hosts=host_columns([host_of.get(summary[0], {}) for summary in summaries]),
        series=align(_timelines(rows, late_s[places])),
        started_at=started,
        ended_at=max(ends, default=None),
        is_final=all(summary[4] for summary in summaries),
        not_measured=_not_measured(missing),
        errors=_errors(key),
    )


def _by_summary(hosts: QuerySet[CpuSummary]) -> dict[int, dict[str, object]]:
    return {row.pop("summary_id"): row for row in hosts.values("summary_id", *HOST_COLUMNS)}


def _errors(key: Key) -> tuple[str, ...]:
    rows = node_summaries(key).exclude(errors=[]).values_list("node", "errors")
    return tuple(f"{node}: {text}" for node, errors in rows for text in errors)


def _late_s(at: datetime | None, started: datetime | None) -> float:
    """How long after the first node one began; 0 where that is not told."""
    return (at - started).total_seconds() if at and started else 0.0


def _in_order(rows: list[tuple], place: Mapping[int, int]) -> tuple[list[tuple], NDArray[np.int64]]:
    """The rows by node and GPU, and the place of each row's node."""
    places = np.array([place[row[0]] for row in rows], dtype=np.int64)
    order = np.lexsort(([row[FIRST_NUMBER] for row in rows], places))
    return [rows[index] for index in order.tolist()], places[order]


def _timelines(rows: list[tuple], late_s: NDArray[np.float64]) -> list[NodeTimelines]:
    """The timelines of neighbouring GPUs with the same buckets as columns together; none of a GPU is all gaps."""
    steps_s = np.array([row[2] or 0.0 for row in rows])
    known_s = np.unique(steps_s[steps_s > 0])
    if known_s.size == 1:
        steps_s, late_s = np.full(len(rows), known_s[0]), whole_buckets_s(late_s, known_s[0])
    cuts = np.flatnonzero((np.diff(steps_s) != 0) | (np.diff(late_s) != 0)) + 1
    spans = pairwise([0, *cuts.tolist(), len(rows)]) if rows else ()
    return [
        NodeTimelines(
            late_s[first],
            steps_s[first],
            util=unpack_timelines([row[3] for row in rows[first:end]]),
            mem_gb=unpack_timelines([row[4] for row in rows[first:end]]),
        )
        for first, end in spans
    ]


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
