"""Reading the raw windows of a run one node at a time."""

from __future__ import annotations

from metrics.models import RawWindow
from metrics.packing import unpack_samples, unpack_ticks
from metrics.selectors import Key, RawSamples


def raw_nodes(key: Key) -> list[str]:
    """The nodes of a run with a raw window, by name."""
    cluster, job_id, attempt = key
    rows = RawWindow.objects.filter(cluster=cluster, job_id=job_id, attempt=attempt)
    return list(rows.order_by("node").values_list("node", flat=True))


def raw_window(key: Key, node: str) -> RawSamples | None:
    """The raw window of one node of a run; None where there is none or no longer one."""
    cluster, job_id, attempt = key
    row = RawWindow.objects.filter(cluster=cluster, job_id=job_id, attempt=attempt, node=node).first()
    if row is None:
        return None
    return RawSamples(
        node=row.node,
        started_at=row.started_at,
        gpu_ids=row.gpu_ids,
        at_s=unpack_ticks(row.at_s),
        util=unpack_samples(row.util, len(row.gpu_ids)),
        mem_gb=unpack_samples(row.mem_gb, len(row.gpu_ids)),
    )
