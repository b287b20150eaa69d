"""Writing measurements and the tokens of their senders."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from django.db import transaction
from django.utils import timezone

from metrics.models import NodeSummary, RawWindow
from metrics.nodes.services import KEY, SAID, Key, Row, upsert
from metrics.packed_node import host_peak_gb, pack_node
from metrics.packing import pack_samples, pack_ticks
from metrics.payloads import NodePayload
from metrics.raw_samples import RawSamplesPayload, window_end
from metrics.running.services import follow_running, key_of


def record_node_summary(payload: NodePayload, now: datetime | None = None, *, sent_by: str = "") -> bool:
    """Store the summary of one node completely or not at all; True when it was new. See `record_node_summaries`."""
    return record_node_summaries([payload], now, sent_by=sent_by)[0]


def record_node_summaries(
    payloads: Sequence[NodePayload], now: datetime | None = None, *, sent_by: str = ""
) -> list[bool]:
    """Store the summaries of some nodes, all of them or none; for each whether it was new.

    A summary replaces one of a lower `sequence`; the same or an older one changes nothing. `sent_by` is the account
    whose own run of the collector measured, empty for the site's: the site's summary replaces an owner's whatever the
    sequences, and never vice versa. A final one replaces in the same way one of a run that goes on.
    """
    now = now or timezone.now()
    is_new = [False] * len(payloads)
    with transaction.atomic():
        for turn in _turns(payloads):
            known = {place for place in turn if _is_known_by_longer_name(payloads[place], sent_by)}
            rows = {place: _row(payloads[place], sent_by, now) for place in turn if place not in known}
            stored = upsert(rows.values())
            for place in rows:
                is_new[place] = key_of(payloads[place]) in stored
            if not sent_by:
                follow_running([payloads[place] for place in turn if is_new[place] or payloads[place].final], now)
    return is_new


def record_raw_window(payload: RawSamplesPayload, now: datetime | None = None) -> bool:
    """Store the raw samples of one node in place of those that ended before; True when they were new.

    The same window sent again keeps its first arrival time, because otherwise it could be kept forever.
    """
    key = {name: getattr(payload, name) for name in KEY}
    columns = _window_columns(payload)
    arrival = {"received_at": now or timezone.now()}
    with transaction.atomic():
        window, is_new = RawWindow.objects.select_for_update().get_or_create(**key, defaults=columns | arrival)
        if is_new:
            return True
        is_known = all(_plain(getattr(window, name)) == value for name, value in columns.items())
        if is_known or (payload.ended_at and payload.ended_at < window.ended_at):
            return False
        RawWindow.objects.filter(pk=window.pk).update(**columns, **arrival)
        return True


def _turns(payloads: Sequence[NodePayload]) -> list[list[int]]:
    """The places of the payloads, one of each node at a time: one statement writes a row once."""
    turns: list[list[int]] = []
    times: Counter[Key] = Counter()
    for place, payload in enumerate(payloads):
        turn = times[key_of(payload)]
        times[key_of(payload)] += 1
        turns += [[]] if turn == len(turns) else []
        turns[turn].append(place)
    return turns


def _is_known_by_longer_name(payload: NodePayload, sent_by: str) -> bool:
    """Whether the site's collector already sent this node, under its name with the domain.

    Owners' summaries have short names; one that is already stored gets the longer name, so that it is replaced.
    """
    short, dot, _ = payload.node.partition(".")
    if bool(sent_by) == bool(dot):
        return False
    run = NodeSummary.objects.filter(cluster=payload.cluster, job_id=payload.job_id, attempt=payload.attempt)
    if sent_by:
        return run.filter(sent_by="", node__startswith=f"{short}.").exists()
    run.filter(node=short).exclude(sent_by="").update(node=payload.node)
    return False


def _row(payload: NodePayload, sent_by: str, now: datetime) -> Row:
    """The columns under the names of `metrics.nodes.services`."""
    figures, series = pack_node(payload)
    said: dict[str, object] = {
        "sequence": payload.sequence,
        "is_final": payload.final,
        "started_at": payload.started_at,
        "ended_at": payload.ended_at,
        "interval_s": payload.interval_s,
        "collector_version": payload.collector_version,
        "errors": list(payload.errors),
        "sent_by": sent_by,
        "host_peak_gb": host_peak_gb(payload.cpu),
        "changed_at": now,
        "figures": figures,
        "series": series,
    }
    return *key_of(payload), *(said[name] for name in SAID)


def _window_columns(payload: RawSamplesPayload) -> dict[str, object]:
    packed = {
        "at_s": pack_ticks(payload.at_s),
        "util": pack_samples([gpu.util for gpu in payload.gpus]),
        "mem_gb": pack_samples([gpu.mem_gb for gpu in payload.gpus]),
    }
    return {
        **packed,
        "size_bytes": sum(map(len, packed.values())),
        "gpu_ids": [gpu.gpu_id for gpu in payload.gpus],
        "started_at": payload.started_at,
        "ended_at": window_end(payload),
        "interval_s": payload.interval_s,
        "collector_version": payload.collector_version,
    }


def _plain(value: object) -> object:
    """A column as bytes: some drivers return a view of them."""
    return bytes(value) if isinstance(value, memoryview) else value
