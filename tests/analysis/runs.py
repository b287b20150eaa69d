"""A run's facts from numbers: how the tests of the rules say what happened."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from analysis.facts import JobFacts, job_facts
from analysis.findings import RIGHT_AT_THRESHOLD, RIGHT_FAR_PAST_IT, Finding, FindingCode
from analysis.rightsizing import Recommendation, recommendations
from analysis.rules import findings
from metrics.packing import pack_histogram, unpack_histograms
from metrics.payloads import NodePayload
from metrics.series import JUDGED_COLUMNS, NodeTimelines, RunMetrics, align, gpu_columns, host_columns
from tests.payloads import gpu, job_record, node_payload

SPELLED = {"--gpus": "8", "--ntasks": "8", "--cpus-per-task": "7", "--mem": "480G", "--time": "03:00:00"}
"""A request that explains all that the default record held: 8 GPUs, 56 cores and 480 GB of small-g."""


def metrics_of(*nodes: NodePayload) -> RunMetrics:
    """The arrays of these nodes, without a database between."""
    pairs = [(index, gpu) for index, node in enumerate(nodes) for gpu in node.gpus]
    return RunMetrics(
        nodes=tuple(node.node for node in nodes),
        gpus=gpu_columns(
            [[gpu.gpu_id, *(getattr(gpu, name) for name in JUDGED_COLUMNS)] for _, gpu in pairs],
            ("gpu_id", *JUDGED_COLUMNS),
            [index for index, _ in pairs],
            unpack_histograms([pack_histogram(gpu.util_histogram_s) for _, gpu in pairs]),
        ),
        hosts=host_columns([msgspec.structs.asdict(node.cpu) if node.cpu else {} for node in nodes]),
        series=align([_timelines(gpu) for _, gpu in pairs]),
        started_at=None,
        ended_at=None,
        is_final=True,
        not_measured=(),
        errors=tuple((node.node, text) for node in nodes for text in node.errors),
    )


def _timelines(gpu: Any) -> NodeTimelines:
    timeline = gpu.timeline
    if timeline is None:
        return NodeTimelines(0.0, 0.0, np.empty((0, 1)), np.empty((0, 1)))
    util = np.asarray(timeline.util, dtype=np.float64)[:, None]
    return NodeTimelines(0.0, timeline.step_s, util, np.asarray(timeline.mem_gb, dtype=np.float64)[:, None])


def of_nodes(*nodes: NodePayload, gpus: int = 8, **record: Any) -> JobFacts:
    """A run on whole nodes of standard-g, `gpus` each; the nodes as they reported."""
    count = len(nodes)
    shape = {
        "partition": "standard-g",
        "nodes": [node.node for node in nodes],
        "node_count": count,
        "gpus_requested": gpus * count,
        "gpus_allocated": gpus * count,
        "ntasks": gpus * count,
        "cpus_allocated": 56 * count,
        "memory_requested_gb": 480.0 * count,
    }
    return job_facts(job_record(**shape | record), metrics_of(*nodes))


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


def found(known: JobFacts, code: FindingCode) -> Finding | None:
    """The finding of this code, where the run has it."""
    return next((finding for finding in findings(known) if finding.code is code), None)


def codes(known: JobFacts) -> set[FindingCode]:
    """What holds of a run."""
    return {finding.code for finding in findings(known)}


def rate(strength: float) -> float:
    """The confidence of an inference whose margins have this geometric mean, in a run that was measured in full."""
    return RIGHT_AT_THRESHOLD + (RIGHT_FAR_PAST_IT - RIGHT_AT_THRESHOLD) * strength


def advice(known: JobFacts) -> tuple[Recommendation, ...]:
    """What follows from what was found in this run alone."""
    return recommendations(known, findings(known))


def diff(recommendation: Recommendation) -> list[str]:
    """The lines to change, as they are printed."""
    return [str(change) for change in recommendation.changes]


def over_time(*utils: list[float | None], step_s: float = 60.0, mem_gb: list[float] | None = None) -> list[Any]:
    """GPUs with these timelines, each measured from its first bucket to its last."""
    return [_with_timeline(index, util, step_s, mem_gb or [30.0] * len(util)) for index, util in enumerate(utils)]


def _with_timeline(index: int, util: list[float | None], step_s: float, mem_gb: list[float]) -> dict[str, Any]:
    known = [value for value in util if value is not None]
    idle_s = step_s * sum(value <= 1 for value in known)
    use = {
        "measured_s": step_s * len(util),
        "samples": round(step_s * len(util)),
        "idle_s": idle_s,
        "active_s": step_s * len(known) - idle_s,
        "util_histogram_s": None,
        "timeline": {"step_s": step_s, "util": util, "mem_gb": mem_gb},
    }
    return gpu(index, float(np.mean(known)) if known else 0.0, **use)
