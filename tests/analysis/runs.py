"""A run's facts from numbers: how the tests of the rules say what happened."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from analysis.facts import JobFacts, job_facts
from metrics.packing import pack_histogram, unpack_histograms
from metrics.payloads import NodePayload
from metrics.series import GPU_FLOAT_COLUMNS, NodeTimelines, RunMetrics, align, gpu_columns, host_columns
from tests.payloads import job_record, node_payload


def metrics_of(*nodes: NodePayload) -> RunMetrics:
    """The arrays of these nodes, without a database between."""
    pairs = [(index, gpu) for index, node in enumerate(nodes) for gpu in node.gpus]
    return RunMetrics(
        nodes=tuple(node.node for node in nodes),
        gpus=gpu_columns(
            [[gpu.gpu_id, *(getattr(gpu, name) for name in GPU_FLOAT_COLUMNS)] for _, gpu in pairs],
            ("gpu_id", *GPU_FLOAT_COLUMNS),
            [index for index, _ in pairs],
            unpack_histograms([pack_histogram(gpu.util_histogram_s) for _, gpu in pairs]),
        ),
        hosts=host_columns([msgspec.structs.asdict(node.cpu) if node.cpu else {} for node in nodes]),
        series=align([_timelines(gpu) for _, gpu in pairs]),
        started_at=None,
        ended_at=None,
        is_final=True,
        not_measured=(),
        errors=(),
    )


def _timelines(gpu: Any) -> NodeTimelines:
    timeline = gpu.timeline
    if timeline is None:
        return NodeTimelines(0.0, 0.0, np.empty((0, 1)), np.empty((0, 1)))
    util = np.asarray(timeline.util, dtype=np.float64)[:, None]
    return NodeTimelines(0.0, timeline.step_s, util, np.asarray(timeline.mem_gb, dtype=np.float64)[:, None])


def facts(utils: list[float], *, cpu: dict[str, Any] | None = None, gpus: Any = None, **record: Any) -> JobFacts:
    """A one-node run whose GPUs were steadily busy at `utils`; `gpus` replaces them, `cpu` the host side."""
    changes: dict[str, Any] = {}
    if gpus is not None:
        changes["gpus"] = gpus
    if cpu is not None:
        changes["cpu"] = cpu
    count = len(gpus) if gpus is not None else len(utils)
    shape = {"gpus_requested": count, "gpus_allocated": count, "gpus_per_node": count}
    return job_facts(job_record(**shape | record), metrics_of(node_payload(utils, **changes)))
