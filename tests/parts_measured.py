"""Runs on several whole nodes of which some sent no summary."""

from __future__ import annotations

from typing import Any

from analysis.assess import Assessment, assess
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, job_record, node_payload

NODE_GPUS = 8


def record_of_nodes(nodes: int = 4, **changes: Any) -> dict[str, Any]:
    """A run of two hours on so many whole nodes, as it was requested."""
    gpus = NODE_GPUS * nodes
    return {
        "partition": "standard-g",
        "nodes": [f"nid{5123 + place:06}" for place in range(nodes)],
        "node_count": nodes,
        "gpus_allocated": gpus,
        "gpus_requested": gpus,
        "gpus_per_node": NODE_GPUS,
        "ntasks": gpus,
        "cpus_allocated": 56 * nodes,
        "memory_requested_gb": 480.0 * nodes,
        "walltime_requested_s": 9000.0,
        "request": {
            "--partition": "standard-g",
            "--nodes": str(nodes),
            "--gpus-per-node": "8",
            "--ntasks-per-node": "8",
            "--time": "02:30:00",
        },
    } | changes


def payloads(measured: int, percent: float, busy_on_first: int = 0, **changes: Any) -> list[Any]:
    """The summaries of the first so many nodes, every GPU at `percent`, some of the first node at 88."""
    return [
        node_payload(
            node=f"nid{5123 + place:06}",
            gpus=[gpu(index, 88.0 if not place and index < busy_on_first else percent) for index in range(NODE_GPUS)],
            **changes,
        )
        for place in range(measured)
    ]


def four_nodes(measured: int, percent: float, nodes: int = 4, busy_on_first: int = 0) -> Assessment:
    """The judgement of a run of which so many nodes sent their summary."""
    record = job_record(**record_of_nodes(nodes))
    return assess(record, metrics_of(*payloads(measured, percent, busy_on_first)))
