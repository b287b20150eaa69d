"""Reading measurements: one run as arrays, and the token of a collector."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import pairwise

import numpy as np
from django.db.models import Count, F, Max, Q, QuerySet, Sum, TextField
from django.db.models.functions import Cast, Coalesce
from numpy.typing import NDArray

from metrics.models import CollectorToken, CpuSummary, GpuSummary, NodeSummary
from metrics.packing import points_of, unpack_histograms, unpack_timelines
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
RUN_COLUMNS = ("summary_id", "histogram_s", *TIMELINE_COLUMNS, "told", *NUMBER_COLUMNS)
TOLD = 2 + len(TIMELINE_COLUMNS)
FIRST_NUMBER = TOLD + 1
"""Where the numbers of a row of `RUN_COLUMNS` begin, with that of the GPU."""

SUMMARY_COLUMNS = ("pk", "node", "started_at", "ended_at", "is_final", "told")
AS_TEXT = partial(Cast, output_field=TextField())
"""JSON as the database writes it: of a few words that thousands of rows repeat each spelling is read once."""

NODES_AT_ONCE = 256

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
        .annotate(peak_gb=Max(Coalesce("peak_memory_anon_gb", "peak_memory_gb")))
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


@dataclass(frozen=True)
class Portion:
    """Some nodes of a run, their GPUs by node and GPU: columns `(g,)`, `numbers` `(g, NUMBER_COLUMNS)`.

    `place` is that of the node among all. Timelines are `(P, g)`, of which each GPU sent the first `points` `(2, g)`.
    """

    place: NDArray[np.int64]
    numbers: NDArray[np.float64]
    histogram_s: NDArray[np.float64]
    step_s: NDArray[np.float64]
    util: NDArray[np.float16]
    mem_gb: NDArray[np.float16]
    points: NDArray[np.int64]
    missing: frozenset[str]


def run_metrics(key: Key) -> RunMetrics:
    """Everything measured of one run; no nodes at all where nothing arrived.

    Rows are read as tuples and unpacked together, some nodes at a time, for a run on all of LUMI-G has 23,824 of them:
    rows stay in the processor's cache, and the database sorts no timelines.
    """
    summaries = list(node_summaries(key).annotate(told=AS_TEXT("errors")).values_list(*SUMMARY_COLUMNS))
    pks, nodes, starts, ends, are_final, errors = zip(*summaries, strict=True) if summaries else ((),) * 6
    columns = ("summary_id", "told", *HOST_COLUMNS)
    hosts = CpuSummary.objects.filter(summary__in=node_summaries(key).order_by())
    host_of = {host["summary_id"]: host for host in hosts.annotate(told=AS_TEXT("missing")).values(*columns)}
    portions = [_portion(key, summaries, first) for first in range(0, max(len(summaries), 1), NODES_AT_ONCE)]
    started = min(filter(None, starts), default=None)
    late_s = np.array([(at - started).total_seconds() if at and started else 0.0 for at in starts])
    said = {told for portion in portions for told in portion.missing} | {host["told"] for host in host_of.values()}
    return RunMetrics(
        nodes=nodes,
        gpus=gpu_columns(
            np.concatenate([portion.numbers for portion in portions]),
            NUMBER_COLUMNS,
            np.concatenate([portion.place for portion in portions]),
            np.concatenate([portion.histogram_s for portion in portions]),
        ),
        hosts=host_columns([host_of.get(pk, {}) for pk in pks]),
        series=align(_timelines(portions, late_s)),
        started_at=started,
        ended_at=max(filter(None, ends), default=None),
        is_final=all(are_final),
        not_measured=_not_measured(map(json.loads, said)),
        errors=_errors(zip(nodes, errors, strict=True)),
    )


def _errors(told: Iterable[tuple[str, str]]) -> tuple[str, ...]:
    return tuple(f"{node}: {text}" for node, errors in told if errors != "[]" for text in json.loads(errors))


def _portion(key: Key, summaries: Sequence[tuple], first: int) -> Portion:
    """The GPUs of the nodes from place `first` on; of one that was not there yet when the nodes were read, none."""
    chosen = summaries[first : first + NODES_AT_ONCE]
    place = {summary[0]: first + index for index, summary in enumerate(chosen)}
    nodes = node_summaries(key).order_by().filter(node__range=(chosen[0][1], chosen[-1][1]) if chosen else ("", ""))
    gpus = GpuSummary.objects.filter(summary__in=nodes).annotate(told=AS_TEXT("missing")).values_list(*RUN_COLUMNS)
    rows = sorted((row for row in gpus if row[0] in place), key=lambda row: (place[row[0]], row[FIRST_NUMBER]))
    utils, memories = [row[3] for row in rows], [row[4] for row in rows]
    numbers = np.array([row[FIRST_NUMBER:] for row in rows], dtype=np.float64)
    return Portion(
        place=np.array([place[row[0]] for row in rows], dtype=np.int64),
        numbers=numbers.reshape(len(rows), len(NUMBER_COLUMNS)),
        histogram_s=unpack_histograms([row[1] for row in rows]),
        step_s=np.array([row[2] or 0.0 for row in rows]),
        util=unpack_timelines(utils),
        mem_gb=unpack_timelines(memories),
        points=np.array([points_of(utils), points_of(memories)]),
        missing=frozenset(row[TOLD] for row in rows),
    )


def _timelines(portions: Sequence[Portion], late_s: NDArray[np.float64]) -> Iterator[NodeTimelines]:
    """The timelines of neighbouring GPUs with the same buckets as columns together; none of a GPU is all gaps.

    `late_s` `(N,)` is how long after the first node each one began.
    """
    known_s = {step_s for portion in portions for step_s in np.unique(portion.step_s).tolist() if step_s}
    for portion in portions:
        step_s, offset_s = portion.step_s, late_s[portion.place]
        if len(known_s) == 1:
            step_s = np.full(step_s.size, *known_s)
            offset_s = whole_buckets_s(offset_s, *known_s)
        cuts = np.flatnonzero((np.diff(step_s) != 0) | (np.diff(offset_s) != 0)) + 1
        for first, end in pairwise([0, *cuts.tolist(), step_s.size] if step_s.size else ()):
            util, mem_gb = portion.points[:, first:end].max(axis=1)
            yield NodeTimelines(
                float(offset_s[first]),
                float(step_s[first]),
                portion.util[:util, first:end],
                portion.mem_gb[:mem_gb, first:end],
            )


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
