"""Reading measurements: one run as arrays, and the token of a collector."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import compress, pairwise
from typing import Any, NamedTuple

import numpy as np
from django.db.models import Count, DurationField, ExpressionWrapper, F, Max, Min, Q, QuerySet, Sum
from numpy.typing import NDArray

from metrics.models import NodeSummary, RawWindow
from metrics.packed_node import GPU_NUMBERS, Figures, Series, unpack_figures, unpack_series
from metrics.packing import points_of, unpack_histograms, unpack_samples, unpack_ticks, unpack_timelines
from metrics.series import NodeTimelines, RunMetrics, align, gpu_columns, host_columns, whole_buckets_s

Key = tuple[str, int, int]

COLLECTORS = ("",)
"""Who sent what the site's own collectors measured (`NodeSummary.sent_by`). Other senders count only if a caller passes
them: this package does not know the owner of a run (`jobs.selectors.counted_senders`)."""

NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")
ADDRESS = re.compile(r"\S+@\S+")
OWN_PATH = re.compile(r"(?<!\S)['\"(]*/(?!sys/|proc/|dev/|run/|opt/|usr/|etc/)\S*")
"""A path that may name a person or a project; system paths do not."""

REASON_LENGTH_MAX = 120

NOT_MEASURED_MAX = 50
"""The most different gaps that a report lists, for people to read."""

SUMMARY_COLUMNS = ("node", "started_at", "ended_at", "is_final", "sent_by", "errors")

CLOCKS_APART = timedelta(days=1)
CLOCK = "use over time on {}: its clock differs by more than a day from the other nodes"

NODES_AT_ONCE = 256
"""How many nodes are unpacked together: their arrays stay in the processor's cache."""

RAW_NODES_AT_ONCE = 4


def node_summaries(key: Key, senders: Collection[str] = COLLECTORS) -> QuerySet[NodeSummary]:
    """The summaries of one run `(cluster, job_id, attempt)` that one of `senders` sent, by node."""
    cluster, job_id, attempt = key
    of_run = NodeSummary.objects.filter(cluster=cluster, job_id=job_id, attempt=attempt)
    return of_run.filter(sent_by__in=senders).order_by("node")


def changed_keys(since: datetime) -> Iterable[Key]:
    """Runs whose measurements changed at or after `since`."""
    return NodeSummary.objects.filter(changed_at__gte=since).values_list("cluster", "job_id", "attempt").distinct()


def last_measured() -> datetime | None:
    """When the last final summary arrived or changed; None where there is none. Others make nothing due at once."""
    latest: datetime | None = NodeSummary.objects.filter(is_final=True).aggregate(at=Max("changed_at"))["at"]
    return latest


class Measured(NamedTuple):
    """The state of the measurements of a run: their revision, by sender the nodes with a final summary, and when they
    last changed."""

    revision: int
    final_nodes: Mapping[str, int]
    changed_at: datetime | None = None


NEVER_MEASURED = Measured(0, {})


def revisions(job_ids: Sequence[int]) -> dict[Key, Measured]:
    """The state of the measurements of each measured run of these job ids.

    The revision is the sum of (sequence + 1) over the nodes, and of the lead of a row: every new or replaced
    summary increases it, whatever the order in which transactions end.
    """
    rows = (
        NodeSummary.objects.filter(job_id__in=job_ids)
        .values_list("cluster", "job_id", "attempt", "sent_by")
        .annotate(revision=Sum(F("sequence") + F("revision_lead") + 1), final=Count("id", filter=Q(is_final=True)))
        .annotate(last=Max("changed_at"))
    )
    found: dict[Key, Measured] = {}
    for *key, sent_by, revision, final, last in rows:
        before = found.get(tuple(key), NEVER_MEASURED)
        latest = max(last, before.changed_at or last)
        found[tuple(key)] = Measured(before.revision + revision, {**before.final_nodes, sent_by: final}, latest)
    return found


def host_peaks_gb(cluster: str, job_ids: Sequence[int], senders: Collection[str] = COLLECTORS) -> dict[Key, float]:
    """Host memory of the fullest node of each of these runs, in 2^30 bytes; a run where none was measured is absent."""
    of_jobs = NodeSummary.objects.filter(cluster=cluster, job_id__in=job_ids)
    rows = (
        of_jobs.filter(sent_by__in=senders, host_peak_gb__isnull=False)
        .values_list("job_id", "attempt")
        .annotate(peak_gb=Max("host_peak_gb"))
    )
    return {(cluster, job_id, attempt): peak_gb for job_id, attempt, peak_gb in rows}


def gpu_rows(key: Key, senders: Collection[str] = COLLECTORS) -> list[dict[str, object]]:
    """One mapping a GPU of the run, by node and GPU: what was measured, without timelines."""
    nodes = node_summaries(key, senders).values_list("node", "figures")
    of_node = ((node, unpack_figures(figures)) for node, figures in nodes.iterator(NODES_AT_ONCE))
    return [{"job_id": key[1], "node": node, **gpu} for node, figures in of_node for gpu in figures.gpus()]


@dataclass(frozen=True)
class Portion:
    """Some nodes of a run, their GPUs by node and GPU: columns `(g,)`, `numbers` `(g, len(GPU_NUMBERS))`.

    `place` is the index of the node among all. Timelines are `(P, g)`; each GPU sent the first `points` `(2, g)`.
    """

    place: NDArray[np.int64]
    numbers: NDArray[np.float64]
    histogram_s: NDArray[np.float64]
    step_s: NDArray[np.float64]
    util: NDArray[np.float16]
    mem_gb: NDArray[np.float16]
    points: NDArray[np.int64]


def run_metrics(key: Key, senders: Collection[str] = COLLECTORS) -> RunMetrics:
    """Everything that `senders` measured of one run; no nodes at all where nothing arrived.

    Rows are read as tuples and unpacked together, some nodes at a time, because a run on all of LUMI-G has 23,824 GPUs.
    """
    rows = list(node_summaries(key, senders).values_list(*SUMMARY_COLUMNS, "figures", "series"))
    nodes, starts, ends, are_final, sent, errors, packed, over_time = zip(*rows, strict=True) if rows else ((),) * 8
    figures = [unpack_figures(column) for column in packed]
    portions = [
        _portion(figures[first : first + NODES_AT_ONCE], over_time[first : first + NODES_AT_ONCE], first)
        for first in range(0, max(len(rows), 1), NODES_AT_ONCE)
    ]
    late_s = _late_s(starts)
    own = ~np.isnan(late_s)
    return RunMetrics(
        nodes=nodes,
        gpus=gpu_columns(
            np.concatenate([portion.numbers for portion in portions]),
            GPU_NUMBERS,
            np.concatenate([portion.place for portion in portions]),
            np.concatenate([portion.histogram_s for portion in portions]),
        ),
        hosts=host_columns([node.host_numbers() for node in figures]),
        series=align(_timelines(portions, late_s)),
        started_at=min(filter(None, compress(starts, own)), default=None),
        ended_at=max(filter(None, compress(ends, own)), default=None),
        is_final=all(are_final),
        not_measured=(*(CLOCK.format(node) for node in compress(nodes, ~own)), *_not_measured(figures)),
        errors=tuple((node, text) for node, said in zip(nodes, errors, strict=True) for text in said),
        own_nodes=tuple(node for node, sender in zip(nodes, sent, strict=True) if sender),
        interim_nodes=tuple(node for node, is_final in zip(nodes, are_final, strict=True) if not is_final),
        is_thinned=not all(over_time),
    )


def is_thinned(key: Key, senders: Collection[str] = COLLECTORS) -> bool:
    """Whether the timelines of some node are no longer stored, as `run_metrics` reports with everything else."""
    return node_summaries(key, senders).filter(series=b"").exists()


def _late_s(starts: Sequence[datetime | None]) -> NDArray[np.float64]:
    """How long after the first node each one began `(N,)`; NaN where its clock differs from the others."""
    known = sorted(at for at in starts if at)
    if not known:
        return np.zeros(len(starts))
    usual = known[len(known) // 2]
    first = next(at for at in known if usual - at <= CLOCKS_APART)
    late = [timedelta() if at is None else at - first for at in starts]
    return np.array([each.total_seconds() if abs(first + each - usual) <= CLOCKS_APART else np.nan for each in late])


def _portion(figures: Sequence[Figures], over_time: Sequence[bytes], first: int) -> Portion:
    """The GPUs of these nodes, the first of which is at place `first` among all."""
    counts = [len(node.pci_bus) for node in figures]
    series = [unpack_series(packed, gpus) for packed, gpus in zip(over_time, counts, strict=True)]
    utils, memories = _of_all(series, "util"), _of_all(series, "mem_gb")
    return Portion(
        place=first + np.repeat(np.arange(len(counts)), counts),
        numbers=np.concatenate([np.empty((0, len(GPU_NUMBERS))), *(node.table() for node in figures)]),
        histogram_s=unpack_histograms(_of_all(series, "histogram_s")),
        step_s=np.array([step_s or 0.0 for step_s in _of_all(series, "step_s")]),
        util=unpack_timelines(utils),
        mem_gb=unpack_timelines(memories),
        points=np.array([points_of(utils), points_of(memories)]),
    )


def _of_all(series: Sequence[Series], name: str) -> list[Any]:
    """One entry of every GPU of these nodes."""
    return [entry for node in series for entry in getattr(node, name)]


def _timelines(portions: Sequence[Portion], late_s: NDArray[np.float64]) -> Iterator[NodeTimelines]:
    """The timelines of neighbouring GPUs with the same buckets as columns together; none of a GPU is all gaps.

    `late_s` `(N,)` is how long after the first node each one began; a node with NaN has no timeline.
    """
    portions = [_without(portion, np.isnan(late_s[portion.place])) for portion in portions]
    late_s = np.nan_to_num(late_s)
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


def _without(portion: Portion, is_foreign: NDArray[np.bool_]) -> Portion:
    """The same GPUs, with only gaps in the timelines of those `(g,)`."""
    if not np.any(is_foreign):
        return portion
    util, mem_gb = (np.where(is_foreign, np.float16(np.nan), values) for values in (portion.util, portion.mem_gb))
    return replace(portion, util=util, mem_gb=mem_gb)


def _not_measured(figures: Iterable[Figures]) -> tuple[str, ...]:
    """Each missing quantity once for each reason given, of GPUs and hosts."""
    sources = (missing for node in figures for missing in (*node.missing, node.host_missing) if missing)
    named = {f"{name}: {reason}" for missing in sources for name, reason in missing.items()}
    return tuple(sorted(named))[:NOT_MEASURED_MAX]


def nodes_heard_since(cluster: str, nodes: Collection[str], since: datetime) -> set[str]:
    """Which of these nodes sent a summary of any run since then."""
    came = NodeSummary.objects.filter(changed_at__gte=since, cluster=cluster, node__in=nodes, sent_by__in=COLLECTORS)
    return set(came.values_list("node", flat=True).distinct())


def failure_reason(error: str) -> str:
    """What a collector could not do, as it is counted: without people's paths and addresses, and with `N` for numbers,
    so that similar reasons are counted together."""
    told = OWN_PATH.sub("PATH", ADDRESS.sub("ADDRESS", error))
    return NUMBER.sub("N", told).strip()[:REASON_LENGTH_MAX] or "no reason given"


@dataclass(frozen=True)
class RawSamples:
    """The raw window of one node: T ticks in seconds after `started_at`, and of G GPUs `(T, G)` each; NaN is a gap."""

    node: str
    started_at: datetime
    gpu_ids: list[int]
    at_s: NDArray[np.float64]
    util: NDArray[np.float32]
    mem_gb: NDArray[np.float32]


@dataclass(frozen=True)
class RawHeld:
    """The raw windows of a run: the length of the longest, and when the first of them arrived."""

    longest_s: float
    received_at: datetime


def raw_windows(key: Key) -> Iterator[RawSamples]:
    """The raw windows of one run by node, a few in memory at a time."""
    for row in _raw_rows(key).order_by("node").iterator(chunk_size=RAW_NODES_AT_ONCE):
        yield _samples(row)


def raw_nodes(key: Key) -> list[str]:
    """The nodes of a run with a raw window, by name."""
    return list(_raw_rows(key).order_by("node").values_list("node", flat=True))


def raw_window(key: Key, node: str) -> RawSamples | None:
    """The raw window of one node of a run; None where there is none or no longer one."""
    row = _raw_rows(key).filter(node=node).first()
    return None if row is None else _samples(row)


def raw_windows_held(key: Key) -> RawHeld | None:
    """The raw windows of a run in short; None where there are none."""
    length = ExpressionWrapper(F("ended_at") - F("started_at"), output_field=DurationField())
    held = _raw_rows(key).aggregate(longest=Max(length), received_at=Min("received_at"))
    return RawHeld(held["longest"].total_seconds(), held["received_at"]) if held["received_at"] else None


def raw_windows_since(since: datetime) -> int:
    """How many raw windows arrived since then."""
    return RawWindow.objects.filter(received_at__gte=since).count()


def raw_bytes_kept() -> int:
    """The packed samples of all raw windows."""
    return RawWindow.objects.aggregate(total=Sum("size_bytes"))["total"] or 0


def _samples(row: RawWindow) -> RawSamples:
    return RawSamples(
        node=row.node,
        started_at=row.started_at,
        gpu_ids=row.gpu_ids,
        at_s=unpack_ticks(row.at_s),
        util=unpack_samples(row.util, len(row.gpu_ids)),
        mem_gb=unpack_samples(row.mem_gb, len(row.gpu_ids)),
    )


def _raw_rows(key: Key) -> QuerySet[RawWindow]:
    cluster, job_id, attempt = key
    return RawWindow.objects.filter(cluster=cluster, job_id=job_id, attempt=attempt)
