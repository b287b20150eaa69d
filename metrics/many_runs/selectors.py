"""What was measured of many runs at once, without their use over time."""

import logging
import zlib
from collections import defaultdict
from collections.abc import Collection, Mapping

import msgspec
import numpy as np

from metrics.models import NodeSummary
from metrics.packed_node import GPU_NUMBERS, Figures, unpack_figures
from metrics.selectors import NODES_AT_ONCE, Key
from metrics.series import JobSeries, RunMetrics, gpu_columns, host_columns
from wire.payloads import HISTOGRAM_BINS

log = logging.getLogger(__name__)


def figures_of_runs(senders: Mapping[Key, Collection[str]]) -> dict[Key, RunMetrics]:
    """The numbers of each of these runs that its `senders` sent, by run: one query; no series, histograms and reasons.

    A run of which nothing was measured has no nodes; a node whose numbers are damaged is left out.
    """
    rows = NodeSummary.objects.filter(job_id__in={job_id for _, job_id, _ in senders}).order_by("node")
    columns = rows.values_list("cluster", "job_id", "attempt", "node", "sent_by", "figures")
    nodes: dict[Key, list[tuple[str, Figures]]] = defaultdict(list)
    for cluster, job_id, attempt, node, sent_by, figures in columns.iterator(NODES_AT_ONCE):
        key = (cluster, job_id, attempt)
        if sent_by not in senders.get(key, ()):
            continue
        try:
            nodes[key].append((node, unpack_figures(figures)))
        except (zlib.error, msgspec.MsgspecError):
            log.warning("the summary of %s of %s/%s is damaged", node, cluster, job_id)
    return {key: _numbers(nodes[key]) for key in senders}


def _numbers(nodes: list[tuple[str, Figures]]) -> RunMetrics:
    figures = [numbers for _, numbers in nodes]
    counts = [len(node.pci_bus) for node in figures]
    table = np.concatenate([np.empty((0, len(GPU_NUMBERS))), *(node.table() for node in figures)])
    return RunMetrics(
        nodes=tuple(name for name, _ in nodes),
        gpus=gpu_columns(
            table, GPU_NUMBERS, np.repeat(np.arange(len(counts)), counts), np.zeros((len(table), HISTOGRAM_BINS))
        ),
        hosts=host_columns([node.host_numbers() for node in figures]),
        series=JobSeries(step_s=0.0, util=np.empty((0, len(table))), mem_gb=np.empty((0, len(table)))),
        started_at=None,
        ended_at=None,
        is_final=True,
        not_measured=(),
        errors=(),
    )
