"""Runs drawn by hypothesis: nodes of GPUs that work, idle, start late, stop early, pause or fall, with their hosts."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any

from hypothesis import strategies as st

from analysis.assess import Assessment, assess
from metrics.payloads import NodePayload
from tests.analysis.runs import metrics_of
from tests.payloads import gpu, job_record, node_payload

BUCKETS, STEP_S = 24, 300.0
ELAPSED_S = BUCKETS * STEP_S
GPUS = 4

Row = list[float]
LEVELS = (3.0, 12.0, 20.0, 33.0, 55.0, 68.0, 76.0, 95.0)


@dataclass(frozen=True)
class DrawnRun:
    """What Slurm and the nodes report of one run, as plain values that a test may change."""

    record: dict[str, Any]
    nodes: list[dict[str, Any]]

    def judged(self) -> Assessment:
        return assess(job_record(**self.record), metrics_of(*self.payloads()))

    def payloads(self) -> list[NodePayload]:
        return [node_payload(**node) for node in self.nodes]

    def changed(self, **record: Any) -> DrawnRun:
        return replace(self, record=self.record | record)

    def copied(self) -> DrawnRun:
        return copy.deepcopy(self)


def shape(level: float, kind: str) -> Row:
    """Busy percent by bucket; every edge and pause is well past ten minutes, or none."""
    rows = {
        "steady": [level] * BUCKETS,
        "idle": [0.0] * BUCKETS,
        "late": [0.0] * 9 + [level] * 15,
        "tail": [level] * 15 + [0.0] * 9,
        "fallen": [level] * 8 + [level / 6] * 16,
        "pauses": ([level] * 5 + [0.0]) * 4,
        "first": [level] * 12 + [0.0] * 12,
        "second": [0.0] * 12 + [level] * 12,
    }
    return rows[kind]


def measured(gpu_id: int, row: Row, peak_gb: float, power_w: float | None) -> dict[str, Any]:
    """One GPU with all that a collector reports of this course; its module's power on the even one."""
    idle_s = STEP_S * sum(value <= 1 for value in row)
    histogram: dict[str, float] = {}
    for value in row:
        histogram[str(round(value))] = histogram.get(str(round(value)), 0.0) + STEP_S
    known = {"power_avg_w": power_w, "power_cap_w": 500.0} if gpu_id % 2 == 0 and power_w else {}
    return gpu(
        gpu_id,
        sum(row) / BUCKETS,
        peak_mem_gb=peak_gb,
        idle_s=idle_s,
        active_s=ELAPSED_S - idle_s,
        util_histogram_s=histogram,
        timeline={"step_s": STEP_S, "util": row, "mem_gb": [0.9 * peak_gb] * BUCKETS},
        throttled_s=0.0,
        **known,
    )


HOSTS = st.fixed_dictionaries(
    {
        "cores_allocated": st.just(28),
        "busy_cores_avg": st.sampled_from([1.0, 4.0, 12.0, 23.0, 28.0]),
        "ranks": st.sampled_from([1, 2, 4, 8]),
        "threads_per_rank": st.sampled_from([1.0, 7.0, 14.0]),
        "idle_fraction": st.sampled_from([0.2, 0.9]),
        "iowait_fraction": st.sampled_from([0.0, 0.12, 0.3]),
        "pressure_cpu_s": st.sampled_from([0.0, 2000.0]),
        "pressure_io_s": st.sampled_from([0.0, 1000.0]),
        "peak_memory_gb": st.sampled_from([20.0, 100.0]),
    }
)
KINDS = ("steady", "steady", "idle", "late", "tail", "fallen", "pauses", "first", "second")


@st.composite
def runs(draw: st.DrawFn, nodes_max: int = 3) -> DrawnRun:
    """One to three nodes of four GPUs: most often all of one kind, else each of its own."""
    count = draw(st.integers(1, nodes_max))
    kind, level = draw(st.sampled_from(KINDS)), draw(st.sampled_from(LEVELS))
    is_alike, peak_gb = draw(st.booleans()), draw(st.sampled_from([4.0, 20.0, 63.5]))
    power_w, host = draw(st.sampled_from([None, 120.0, 260.0, 450.0])), draw(HOSTS)
    nodes = []
    for number in range(count):
        gpus = []
        for gpu_id in range(GPUS):
            own = (level, kind) if is_alike else (draw(st.sampled_from(LEVELS)), draw(st.sampled_from(KINDS)))
            gpus.append(measured(gpu_id, shape(*own), peak_gb, power_w))
        nodes.append({"node": f"nid00512{number}", "gpus": gpus, "cpu": dict(host)})
    state = draw(st.sampled_from(["COMPLETED", "COMPLETED", "FAILED", "TIMEOUT"]))
    return DrawnRun(record_of(nodes, state, draw(st.sampled_from([7200.0, 20_000.0]))), nodes)


def record_of(nodes: list[dict[str, Any]], state: str, walltime_s: float) -> dict[str, Any]:
    """A record in which every GPU has its share of the cores and of the memory: those raise no bill."""
    gpus = sum(len(node["gpus"]) for node in nodes)
    return {
        "state": state,
        "exit_code": "1:0" if state == "FAILED" else "0:0",
        "nodes": [node["node"] for node in nodes],
        "node_count": len(nodes),
        "gpus_requested": gpus,
        "gpus_allocated": gpus,
        "gpus_per_node": None,
        "ntasks": gpus,
        "cpus_allocated": 7 * gpus,
        "memory_requested_gb": 60.0 * gpus,
        "walltime_requested_s": walltime_s,
        "walltime_used_s": ELAPSED_S,
        "request": {},
    }
